import { text as allOf } from "node:stream/consumers";
import type { AgentId } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { LONGEST_WORDS } from "../../runtime/human/human-refusal.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { detach, flags, isDetached, tellParent } from "../home/detached.ts";
import { lookAtAgent } from "../home/look.ts";
import { asCalled, type Invocation } from "../invocation.ts";
import { type Doing, type Saying, sayElsewhere, tell, whileHandsChange } from "../talk/speaker.ts";

export interface SpeakOptions {
  to?: string;
  question?: string;
  detach?: boolean;
}

export async function send(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  return speak(call, agent, { do: "send", text: await wordsOf(call, word), to: options.to }, options);
}

export async function answer(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  const text = await wordsOf(call, word);
  return speak(call, agent, { do: "respond", text, question_id: questionId(options.question) }, options);
}

export async function nudge(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  return speak(call, agent, { do: "nudge", text: await wordsOf(call, word) }, options);
}

export async function assign(call: Invocation, agent: string, node: string, to: string): Promise<ExitCode> {
  return speak(call, agent, { do: "assign", node, to }, {});
}

export async function cancel(call: Invocation, agent: string, node: string, reason?: string): Promise<ExitCode> {
  const text = reason === undefined ? undefined : await wordsOf(call, reason);
  return speak(call, agent, { do: "cancel", node, text }, {});
}

export async function revoke(call: Invocation, agent: string, permission: string): Promise<ExitCode> {
  return speak(call, agent, { do: "revoke", permission }, {});
}

export async function publish(
  call: Invocation,
  agent: string,
  node: string,
  { summary, detach: leave }: { summary?: string; detach?: boolean },
): Promise<ExitCode> {
  const text = summary === undefined ? undefined : await wordsOf(call, summary);
  return speak(call, agent, { do: "publish", node, text }, leave === undefined ? {} : { detach: leave });
}

/**
 * Whoever works on the agent is told; when nobody does, it is recorded here, and an agent that goes on works here, in
 * sight of the person, until it ends.
 */
async function speak(call: Invocation, word: string, saying: Saying | Doing, options: SpeakOptions): Promise<ExitCode> {
  const { settings, now } = await lookAtAgent(call, word);
  const { id, created } = now.agent;
  const isLeaving = options.detach === true && !isDetached(call.terminal.env);
  const reached = await whileHandsChange(async () => {
    const heard = await sayElsewhere(settings.home, id, saying);
    if (heard !== undefined) return { heard };
    return isLeaving ? {} : { runtime: await (await import("../home/open-home.ts")).openHome(call, settings) };
  });
  if (reached.runtime) return speakHere(call, reached.runtime, settings, id, saying);
  if (reached.heard === undefined)
    return detach(call, wordsFor(id, saying), "text" in saying ? (saying.text ?? "") : "");
  if (call.json) await call.terminal.printJson({ id, name: created.name, message: reached.heard });
  else call.terminal.say(`${created.name}: ${asCalled(reached.heard, call.terminal.env)}`);
  return EXIT.done;
}

async function speakHere(
  call: Invocation,
  runtime: Runtime,
  settings: Settings,
  id: AgentId,
  saying: Saying | Doing,
): Promise<ExitCode> {
  const { terminal, json } = call;
  try {
    const [{ watchTeam }, { listenForOthers, tellRepairs }] = await Promise.all([
      import("../live/watch-team.ts"),
      import("./run.ts"),
    ]);
    const agent = await runtime.agent(id);
    tellRepairs(runtime, settings.home, terminal);
    const { seq } = agent.log;
    const message = await tell(agent, saying);
    const { created } = agent.now.agent;
    if (isDetached(terminal.env)) tellParent({ id, name: created.name });
    terminal.say(terminal.errPaint.dim(`${created.name} (${id}): ${message}`));
    if (agent.isWorking) return await watchTeam(agent, seq, call, [listenForOthers(runtime)]);
    if (json) await terminal.printJson({ id, name: created.name, message });
    return EXIT.done;
  } finally {
    await runtime.close();
  }
}

async function wordsOf({ terminal }: Invocation, word: string): Promise<string> {
  const text = (word === "-" ? await allOf(terminal.stdin) : word).trim();
  if (text === "") throw new UsageError("The message is empty.");
  if (text.length > LONGEST_WORDS) {
    throw new UsageError(
      `The text has ${text.length} characters; at most ${LONGEST_WORDS} can be sent at once. Put it into a file of the project and name the file.`,
    );
  }
  return text;
}

/** The number alone will do. */
function questionId(word: string | undefined): string | undefined {
  return word !== undefined && /^\d+$/.test(word) ? `question-${word}` : word;
}

const COMMANDS = { send: "send", respond: "answer", nudge: "nudge" } as const;

function wordsFor(id: AgentId, saying: Saying | Doing): string[] {
  if (saying.do === "assign") return ["assign", id, saying.node, saying.to];
  if (saying.do === "model") return ["resume", id, "--model", saying.model];
  if (saying.do === "cancel") return ["cancel", id, saying.node, ...(saying.text ? ["-"] : [])];
  if (saying.do === "revoke") return ["permissions", id, "--revoke", saying.permission];
  if (saying.do === "publish") return ["publish", id, saying.node, ...flags({ summary: saying.text && "-" })];
  const more =
    saying.do === "send" ? { to: saying.to } : saying.do === "respond" ? { question: saying.question_id } : {};
  return [COMMANDS[saying.do], id, "-", ...flags(more)];
}
