import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { copyBundled, Layout } from "../../mesh/index.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { trustMeshes } from "../../testing/trust-meshes.ts";
import { Terminal } from "../terminal.ts";
import type { TxCall } from "./project.ts";
import { trust, untrust } from "./trust.ts";

// A person is at the terminal, who has typed their answer already.
vi.mock("../live/interactive.ts", () => ({ isAttended: () => true }));

async function inProject(home: string, typed = ""): Promise<{ call: TxCall; said: () => string }> {
  const project = join(home, "project");
  mkdirSync(join(project, "meshes/mesh-configs"), { recursive: true });
  const agent = join(project, "meshes/agents/x/one");
  mkdirSync(agent, { recursive: true });
  writeFileSync(
    join(project, "meshes/mesh-configs/term.json"),
    '{"mesh":"term","type":"persistent","agents":["x/one"]}',
  );
  writeFileSync(join(agent, "config.json"), '{"name":"one","options":{"runs":"tmux"}}');
  await copyBundled(new Layout(project), ["tour"]);
  const stderr = new PassThrough();
  const stdin = new PassThrough();
  stdin.end(`${typed}\n`);
  const terminal = new Terminal(
    { stdin, stdout: new PassThrough(), stderr },
    { PATH: process.env.PATH ?? "" },
    project,
  );
  const call = { terminal, json: false, home, packageRoot: home, project: undefined, speaker: undefined };
  return { call, said: () => String(stderr.read() ?? "") };
}

const grants = async (call: TxCall) => {
  const stdout = new PassThrough();
  const terminal = new Terminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() }, {}, call.terminal.cwd);
  await trust({ ...call, terminal, json: true }, [], { list: true });
  return (JSON.parse(String(stdout.read())) as { meshes: { mesh: string; terminals: boolean }[] }).meshes;
};

test("tx trust --terminals of a trusted mesh says what it has and asks for terminals; t is a yes, and a no is said", async () => {
  await using home = await temporaryHome();
  const first = await inProject(home.path, "maybe");
  await trustMeshes(home.path, first.call.terminal.cwd, { terminals: false });
  expect(await trust(first.call, ["term"], { terminals: true })).toBe(3);
  const asked = first.said();
  expect(asked).toContain("term is trusted, without terminals.\n");
  expect(asked).toContain("Allow terminals? [y/N] term: nothing was changed.\n");
  const second = await inProject(home.path, "t");
  expect(await trust(second.call, ["term"], { terminals: true })).toBe(0);
  expect(second.said()).toContain("term is trusted, with terminals.");
  expect(await grants(second.call)).toContainEqual(expect.objectContaining({ mesh: "term", terminals: true }));
  expect(await trust(second.call, ["term"], { terminals: true })).toBe(0);
  expect(second.said()).toBe("Already trusted: term (with terminals).\n");
});

test("a mesh that comes with us needs no trust, and an unknown one is an error that names the nearest", async () => {
  await using home = await temporaryHome();
  const { call, said } = await inProject(home.path);
  expect(await trust(call, ["tour"], {})).toBe(0);
  expect(said()).toContain("tour: It comes with Agiraph, unchanged: it needs no trust");
  expect(await untrust(call, "tour")).toBe(0);
  expect(said()).toContain("tour was not trusted. It comes with Agiraph, unchanged: it needs no trust");
  await expect(untrust(call, "trem")).rejects.toThrow("Did you mean term?");
  expect(await grants(call)).toEqual([]);
});

test("tx trust MESH of a mesh that is declared and not trusted yet does not say that none is declared", async () => {
  await using home = await temporaryHome();
  const { call, said } = await inProject(home.path, "y");
  expect(await trust(call, ["term"], {})).toBe(0);
  const words = said();
  expect(words).toContain("term is not trusted yet.");
  expect(words).not.toContain("No mesh is declared");
});

test("tx trust in a project that declares none says so", async () => {
  await using home = await temporaryHome();
  const { call, said } = await inProject(home.path);
  rmSync(join(call.terminal.cwd, "meshes"), { recursive: true });
  mkdirSync(join(call.terminal.cwd, "meshes/mesh-configs"), { recursive: true });
  expect(await trust(call, [], {})).toBe(0);
  expect(said()).toBe("No mesh is declared in meshes/mesh-configs/.\n");
});
