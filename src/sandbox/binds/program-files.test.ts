import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { inSandbox, skipped, whole } from "../../../test/try-sandbox.ts";
import { programFiles } from "./program-files.ts";

const nodeFolder = dirname(process.execPath);
/** Our own Node lies in a system folder on some machines, and is there anyway. */
const node = nodeFolder.startsWith("/usr/") ? [] : [nodeFolder];

async function program(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

/** A package with a dependency, and its link in .bin, as npm lays them out. */
async function installed(root: string) {
  const modules = `${root}/tool/node_modules`;
  await program(
    `${modules}/@maker/agent/bin/agent.mjs`,
    '#!/usr/bin/env node\nimport { word } from "helper";\nconsole.log(word, process.version, process.argv.slice(2).join());\n',
  );
  await program(`${modules}/helper/index.mjs`, 'export const word = "helped";\n');
  await writeFile(`${modules}/helper/package.json`, JSON.stringify({ name: "helper", exports: "./index.mjs" }));
  await mkdir(`${modules}/.bin`);
  await symlink("../@maker/agent/bin/agent.mjs", `${modules}/.bin/agent`);
  return modules;
}

describe("what a program needs to be seen", () => {
  test("is all that was installed with it, and our Node", async () => {
    const { root } = await inSandbox();
    const modules = await installed(root);
    expect(await programFiles(["agent", "--fast"], `/usr/bin:${modules}/.bin`)).toEqual({
      command: `${modules}/.bin/agent`,
      read: [modules, ...node],
      path: [nodeFolder],
    });
  });

  test("is its link too, where that lies elsewhere, and the file alone of a binary", async () => {
    const { root } = await inSandbox();
    const binary = await program(`${root}/share/versions/2.1`, "\x7fELF");
    await mkdir(`${root}/bin`);
    await symlink(binary, `${root}/bin/agent`);
    expect(await programFiles([`${root}/bin/agent`], "")).toEqual({
      command: `${root}/bin/agent`,
      read: [binary, `${root}/bin/agent`, ...node],
      path: [nodeFolder],
    });
  });

  test("is its interpreter, with the environment that this belongs to, and a script given by hand", async () => {
    const { root } = await inSandbox();
    await program(`${root}/venv/bin/python`, "\x7fELF");
    await writeFile(`${root}/venv/pyvenv.cfg`, "");
    const script = await program(`${root}/scripts/run.py`, `#!${root}/venv/bin/python\n`);
    const venv = { read: [script, `${root}/venv`, ...node], path: [nodeFolder, `${root}/venv/bin`] };
    expect(await programFiles([script], "")).toEqual({ command: script, ...venv });
    expect(await programFiles(["bash", script, "/nowhere", "word"], "/usr/bin")).toEqual({
      command: "/usr/bin/bash",
      read: [script, ...node],
      path: [nodeFolder],
    });
  });

  test("is no file with secrets in a folder that people work in, at no depth, and no link that leads to one", async () => {
    const { root } = await inSandbox();
    const folder = `${root}/checkout`;
    const script = await program(`${folder}/bin/agent.mjs`, "#!/usr/bin/env node\n");
    for (const path of ["package.json", ".pnp.cjs", "lib/main.mjs", "server/app.mjs", "node_modules/x/.npmrc"])
      await program(`${folder}/${path}`, "");
    for (const path of [".env", ".env.local", ".npmrc", ".git/config", "server/.env", "server/key.pem"])
      await program(`${folder}/${path}`, "SECRET=canary\n");
    await symlink("../.env", `${folder}/lib/link`);
    await symlink("/etc/hostname", `${folder}/outside`);
    await symlink("lib/main.mjs", `${folder}/main`);
    await symlink("server", `${folder}/alias`);
    const { read } = await programFiles([script], "");
    const shown = [".pnp.cjs", "bin", "lib/main.mjs", "main", "node_modules", "package.json", "server/app.mjs"];
    expect(read.toSorted()).toEqual([...shown.map((path) => `${folder}/${path}`), ...node].toSorted());
    if (skipped) return;
    const { run } = await inSandbox();
    const { output } = await run(`cd ${folder}; grep -rl canary . ; cat main bin/agent.mjs; ls -A server`, { read });
    expect(output).toBe("#!/usr/bin/env node\napp.mjs\n");
  });

  test("is nothing of the system's, which every sandbox has", async () => {
    expect(await programFiles(["env"], "/usr/bin")).toEqual({
      command: "/usr/bin/env",
      read: node,
      path: [nodeFolder],
    });
  });

  test.each([["agent"], ["./agent"], ["/nowhere/agent"]])(
    "%s that is not there is refused by name",
    async (command) => {
      await expect(programFiles([command], "/usr/bin:.")).rejects.toThrow(`The program ${command} was not found.`);
    },
  );

  test.skipIf(skipped)(`is enough to run it ${skipped}`, async () => {
    const { root, box } = await inSandbox();
    const modules = await installed(root);
    const { command, read, path } = await programFiles(["agent"], `${modules}/.bin`);
    const running = await box.start({
      launch: () => ({ argv: [command, "a", "b"], env: { PATH: [...path, "/usr/bin"].join(":") } }),
      cwd: "/tmp",
      binds: { write: [], read, hide: [] },
      signal: new AbortController().signal,
    });
    expect(await whole(running)).toEqual({
      out: `helped ${process.version} a,b\n`,
      err: "",
      code: 0,
      signal: null,
      exceeded: null,
    });
  });
});
