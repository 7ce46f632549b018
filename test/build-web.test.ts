import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");

test("`npm start` builds the page where it is missing, and does not wait for it where it is there", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect([scripts.prestart, scripts.build]).toEqual([
    "npm run --silent build",
    expect.stringMatching(/node scripts\/build-web\.mjs$/),
  ]);
  const copy = mkdtempSync(join(tmpdir(), "agiraph-build-"));
  try {
    for (const path of ["web", "src/protocol", "src/projections", "package.json", "package-lock.json", "tsconfig.json"])
      cpSync(join(ROOT, path), join(copy, path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    const build = () => execFileSync(process.execPath, [join(ROOT, "scripts/build-web.mjs")], { cwd: copy });
    const page = join(copy, "dist/web/index.html");
    expect(existsSync(page)).toBe(false);
    build();
    const { mtimeMs } = statSync(page);
    expect(readFileSync(page, "utf8")).toMatch(/src="\/assets\/index-[\w-]+\.js"/);
    build();
    expect(statSync(page).mtimeMs).toBe(mtimeMs);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
