import type { ApiClient } from "../../client/client.ts";
import type { Situation } from "../../projections/index.ts";
import type { AgentSummary } from "../../protocol/api/agents.ts";
import type { CreateAgent } from "../../protocol/commands.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { NewModels } from "../../runtime/model-change.ts";
import { lookAtHome } from "../../runtime/open-runtime.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { watchTeam } from "../live/watch-team.ts";
import { isDetached, tellParent } from "./detached.ts";
import { lookAtAgent } from "./look.ts";
import { ServedAgent } from "./served-agent.ts";

/** A server holds the home: it does the work, and this terminal looks on. */
export async function runServed(
  call: Invocation,
  server: ApiClient,
  settings: Settings,
  order: CreateAgent,
): Promise<ExitCode> {
  const { terminal } = call;
  const made = await server.give({ do: "create", ...order });
  terminal.say(terminal.errPaint.dim(`Model: ${made.model}`));
  terminal.say(terminal.errPaint.dim(`Agent: ${made.name} (${made.id}), in the server at ${server.url}`));
  if (isDetached(terminal.env)) {
    tellParent({ id: made.id, name: made.name, server: server.url });
    return EXIT.done;
  }
  return watch(call, server, settings.home, made, 0);
}

export async function resumeServed(
  call: Invocation,
  server: ApiClient,
  word: string,
  more: { budget_usd: number | undefined; budget_tokens: number | undefined },
  modelsFor: (created: Situation["agent"]["created"]) => NewModels,
): Promise<ExitCode> {
  const { settings, now } = await lookAtAgent(call, word);
  const { created } = now.agent;
  const { model, worker_model } = modelsFor(created);
  const models = { ...(model && { model }), ...(worker_model && { worker_model }) };
  const resumed = await server.give({ do: "resume", id: now.agent.id, ...more, ...models });
  const { terminal } = call;
  if (created.meshes) {
    if (call.json) await terminal.printJson(resumed);
    terminal.say(
      `${created.name} (${resumed.id}) goes on in the server. How it stands: tx status --project ${created.project}`,
    );
    return EXIT.done;
  }
  terminal.say(
    terminal.errPaint.dim(`Agent: ${resumed.name} (${resumed.id}) goes on with ${resumed.model}, in the server`),
  );
  if (isDetached(terminal.env)) {
    tellParent({ id: resumed.id, name: resumed.name, server: server.url });
    return EXIT.done;
  }
  return watch(call, server, settings.home, resumed, now.seq);
}

async function watch(
  call: Invocation,
  server: ApiClient,
  home: string,
  { id }: AgentSummary,
  after: number,
): Promise<ExitCode> {
  const store = await lookAtHome(home);
  const agent = await ServedAgent.open(home, server, await store.open(id as AgentId));
  try {
    return await watchTeam(agent, after, call);
  } finally {
    agent.close();
  }
}
