import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { withTmux } from "./terminals.ts";
import { TxProject } from "./tx-project.ts";

/** The server that `tx start` hands a project to: whose environment counts, and how it ends. */
const LONG = { timeout: 180_000 };

withTmux(
  "tx start gives the programs the caller's environment, says which server runs, and stop --server ends it",
  LONG,
  async () => {
    await using project = new TxProject();
    const tells = 'while read -r line; do case "$line" in *"[tx] Task"*) tx done "$TOLD_BY $SECRET." ;; esac; done';
    const programs = { obedient: { kind: "autonomous", command: ["sh", "-c", tells], env: ["TOLD_BY"] } };
    writeFileSync(join(project.home, "config.json"), JSON.stringify({ programs, server: { port: 0 } }));
    await project.tx(["trust", "--terminals", "--yes"]);
    const first = await project.tx(["start"], { env: { TOLD_BY: "first" } });
    expect(first.stderr).toMatch(/Started the server of \S+ \(pid \d+, http:\S+\)\. To stop it: tx stop --server/);
    // Another shell, with another environment, and the server that is there.
    const second = await project.tx(["start"], { env: { TOLD_BY: "second", SECRET: "not named" } });
    expect(second.stderr).toMatch(
      /They run in the server that was already running \(pid \d+, http:\S+\)\. To stop it: tx stop --server/,
    );
    await project.tx(["send", "relay/first", "Who?"]);
    const results = () =>
      project.messages("relay/agents/first", "complete").filter((name) => name.endsWith(".result.md"));
    await vi.waitFor(() => expect(results()).toHaveLength(1), { timeout: 120_000 });
    const words = readFileSync(
      join(project.project, ".ai/tx/mesh/relay/agents/first/msgs/complete", results()[0] ?? ""),
      "utf8",
    );
    expect(words).toContain("second .");
    const stopped = await project.tx(["stop"]);
    expect(stopped.stderr).toMatch(/The server keeps running \(pid \d+, http:\S+\)\. To stop it: tx stop --server/);
    const { pid } = JSON.parse(readFileSync(join(project.home, "home.lock.json"), "utf8")) as { pid: number };
    expect(await project.tx(["stop", "--server"])).toMatchObject({
      code: 0,
      stderr: `Stopped the server of ${project.home} (pid ${pid}).\n`,
    });
    expect(() => process.kill(pid, 0)).toThrow();
    expect(await project.json("stop", "--server")).toEqual({ home: project.home, server: null, status: "stopped" });
  },
);

test("tx init --gitignore keeps .ai/ out of git, once, and says so where nobody asked", LONG, async () => {
  await using project = new TxProject();
  mkdirSync(join(project.project, ".git"));
  const file = join(project.project, ".gitignore");
  expect((await project.tx(["init", "tour"])).stderr).toContain("To keep it out of git: tx init --gitignore");
  expect(existsSync(file)).toBe(false);
  writeFileSync(file, "dist");
  expect((await project.tx(["init", "tour", "--gitignore"])).stderr).toContain("Added .ai/ to .gitignore.");
  expect((await project.tx(["init", "tour", "--gitignore"])).stderr).toContain(".gitignore already has .ai/.");
  expect(readFileSync(file, "utf8")).toBe("dist\n.ai/\n");
});
