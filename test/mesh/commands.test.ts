import { join } from "node:path";
import { expect } from "vitest";
import { ApiClient } from "../../src/client/client.ts";
import {
  COMMAND_ROUTES,
  type CommandName,
  type CommandOf,
  type CommandResult,
  commandNames,
} from "../../src/protocol/commands.ts";
import type { Actor } from "../../src/protocol/index.ts";
import { TOKEN } from "../../src/testing/start-server.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

type Give = <C extends CommandName>(command: CommandOf<C>) => Promise<CommandResult<C>>;

const ACTOR: Actor = { kind: "human", via: "terminal" };
const READER = join(import.meta.dirname, "terminal-reader.ts");

/** The ways by which every command may come; those to agents: `src/server/commands.test.ts`. */
const WAYS: Record<string, (house: MeshHouse) => Give> = {
  runtime:
    ({ runtime }) =>
    (command) =>
      runtime.execute(command, ACTOR),
  client: ({ api }) => {
    const client = new ApiClient({ url: api.url, token: TOKEN, via: "terminal" });
    return (command) => client.give(command);
  },
};

withTmux(
  "MESH-PROJECT-3: every command to a mesh has the same outcome whichever way it comes, and what it does bears its actor",
  { timeout: 120_000 },
  async () => {
    const outcomes = [];
    for (const way of Object.values(WAYS)) outcomes.push(await everyMeshCommand(way));
    const [byRuntime, byClient] = outcomes;
    expect([byClient?.answers, byClient?.acted]).toEqual([byRuntime?.answers, byRuntime?.acted]);
    const toMeshes = commandNames.filter((name) => COMMAND_ROUTES[name].includes(" /meshes"));
    expect(Object.keys(byRuntime?.answers ?? {}).sort()).toEqual(toMeshes.sort());
    expect(byRuntime?.acted).toEqual([
      "agent.created",
      "agent.started",
      "mesh.trusted",
      "tool.result: answered",
      "mesh.session: starting",
      "mesh.received: task",
      "mesh.session: gone",
      "mesh.closed: it is no longer trusted",
      "agent.stopped",
    ]);
    // What followed from the commands was nobody's.
    expect(byRuntime?.alone).toEqual(expect.arrayContaining(["mesh.held", "mesh.opened", "mesh.told", "mesh.session"]));
  },
);

async function everyMeshCommand(way: (house: MeshHouse) => Give) {
  await using house = await new MeshHouse({
    meshes: [{ mesh: "line", type: "persistent", agents: ["x/reader"] }],
    agents: { reader: { options: { program: "reader", runs: "tmux" } } },
    config: { programs: { reader: { kind: "autonomous", command: [process.execPath, READER, "taken"] } } },
  }).open();
  const give = way(house);
  const answers: Record<string, unknown> = {};
  const asked = async <C extends CommandName>(command: CommandOf<C>): Promise<CommandResult<C>> => {
    const result = await give(command);
    const { status, detail, name } = result as { status?: string; detail?: string; name?: string };
    answers[command.do] = [status, detail, name?.replace(/^\d+-\d+/, "DATE")];
    return result;
  };
  const { id, meshes } = await asked({ do: "start_meshes", project: house.project });
  house.id = id as typeof house.id;
  const hash = meshes[0]?.trust.hash ?? "";
  await house.until(({ type }) => type === "human.question");
  const line = { id, mesh: "line" };
  await asked({ do: "trust_mesh", ...line, hash, terminals: true });
  await asked({ do: "spawn_mesh_agent", ...line, agent: "reader" });
  await house.until(({ type, data }) => type === "mesh.session" && data.state === "idle");
  await asked({ do: "send_to_mesh", ...line, text: "# Read it\n" });
  await house.until(({ type }) => type === "mesh.told");
  await asked({ do: "kill_mesh_agent", ...line, agent: "reader" });
  await asked({ do: "archive_mesh", ...line });
  await asked({ do: "untrust_mesh", ...line });
  await asked({ do: "stop_meshes", id });
  const { log } = await house.runtime.agent(house.id);
  const facts = await log.read({ after: 0, limit: 10_000 });
  const acting = facts.filter(({ actor }) => actor);
  for (const { actor } of acting) expect(actor).toEqual(ACTOR);
  const acted = acting.map(({ type, data }) => {
    const { state, why, gist, type: kind } = data as Record<string, string | undefined>;
    const how = type.startsWith("agent.") ? undefined : (state ?? why ?? gist ?? kind);
    return how === undefined ? type : `${type}: ${how}`;
  });
  return { answers, acted, alone: [...new Set(facts.filter(({ actor }) => !actor).map(({ type }) => type))] };
}
