import { text as allOf } from "node:stream/consumers";
import type { CommandToAgent } from "../../protocol/commands.ts";
import type { AgentId } from "../../protocol/index.ts";
import { LONGEST_WORDS } from "../../protocol/words.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { detach, flags, isDetached, tellParent } from "../home/detached.ts";
import type { LocalHome } from "../home/local-home.ts";
import { lookAtAgent } from "../home/look.ts";
import { reachHome } from "../home/reach-home.ts";
import { AT_TERMINAL, asCalled, type Invocation } from "../invocation.ts";

export interface SpeakOptions {
  to?: string;
  question?: string;
  detach?: boolean;
}

/** The commands of this file: what comes of each is told in words. */
type Spoken =
  | ("send" | "respond" | "nudge" | "assign" | "cancel" | "revoke_permission" | "publish")
  | ("accept" | "reject" | "comment" | "rebase" | "restore_work");
type SpokenCommand = CommandToAgent<Spoken>;

export async function send(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  const { to } = options;
  return speak(call, agent, { do: "send", message: await wordsFrom(call, word), ...(to && { to }) }, options);
}

export async function answer(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  const response = await wordsFrom(call, word);
  const question_id = questionId(options.question);
  return speak(call, agent, { do: "respond", response, ...(question_id && { question_id }) }, options);
}

export async function nudge(call: Invocation, agent: string, word: string, options: SpeakOptions): Promise<ExitCode> {
  return speak(call, agent, { do: "nudge", message: await wordsFrom(call, word) }, options);
}

export async function assign(call: Invocation, agent: string, node_id: string, worker: string): Promise<ExitCode> {
  return speak(call, agent, { do: "assign", node_id, worker }, {});
}

export async function cancel(call: Invocation, agent: string, node_id: string, why?: string): Promise<ExitCode> {
  const reason = why === undefined ? {} : { reason: await wordsFrom(call, why) };
  return speak(call, agent, { do: "cancel", node_id, ...reason }, {});
}

export async function revoke(call: Invocation, agent: string, key: string): Promise<ExitCode> {
  return speak(call, agent, { do: "revoke_permission", key }, {});
}

export async function publish(
  call: Invocation,
  agent: string,
  node_id: string,
  { summary, detach: leave }: { summary?: string; detach?: boolean },
): Promise<ExitCode> {
  const words = summary === undefined ? {} : { summary: await wordsFrom(call, summary) };
  return speak(call, agent, { do: "publish", node_id, ...words }, leave === undefined ? {} : { detach: leave });
}

/**
 * The process that holds the home is told; when nobody does, it is recorded here, and an agent that goes on works here, in sight
 * of the person, until it ends.
 */
export async function speak(
  call: Invocation,
  word: string,
  speech: SpokenCommand,
  options: SpeakOptions,
): Promise<ExitCode> {
  const { settings, now } = await lookAtAgent(call, word);
  const { id, created } = now.agent;
  const isLeaving = options.detach === true && !isDetached(call.terminal.env);
  const reached = await reachHome<{ heard?: string; local?: LocalHome }>(settings, {
    there: async ({ client }) => ({
      heard: (await client.give<Spoken>({ ...speech, id } as never)).detail,
    }),
    here: async () =>
      isLeaving ? {} : { local: await (await import("../home/local-home.ts")).LocalHome.open(call, settings) },
  });
  if (reached.local) return speakHere(call, reached.local, settings, id, speech);
  if (reached.heard === undefined) return detach(call, ...wordsFor(id, speech));
  if (call.json) await call.terminal.printJson({ id, name: created.name, message: reached.heard });
  else call.terminal.say(`${created.name}: ${asCalled(reached.heard, call.terminal.env)}`);
  return EXIT.done;
}

async function speakHere(
  call: Invocation,
  local: LocalHome,
  settings: Settings,
  id: AgentId,
  speech: SpokenCommand,
): Promise<ExitCode> {
  const { terminal, json } = call;
  const { runtime } = local;
  try {
    const [{ watchTeam }, { tellRepairs }] = await Promise.all([
      import("../talk/watch-team.ts"),
      import("../home/local-home.ts"),
    ]);
    const agent = await runtime.agent(id);
    tellRepairs(runtime, settings.home, terminal);
    const { seq } = agent.log;
    const { detail: message } = await runtime.execute<Spoken>({ ...speech, id } as never, AT_TERMINAL);
    const { created } = agent.now.agent;
    const said = asCalled(message, terminal.env);
    if (isDetached(terminal.env)) tellParent({ id, name: created.name, ...(!agent.isWorking && { outcome: said }) });
    terminal.say(terminal.errPaint.dim(`${created.name} (${id}): ${said}`));
    if (agent.isWorking) return await watchTeam(local.watched(agent), seq, call, [local.listen()]);
    if (json) await terminal.printJson({ id, name: created.name, message });
    return EXIT.done;
  } finally {
    await local.leave(id);
  }
}

export async function wordsFrom({ terminal }: Invocation, word: string): Promise<string> {
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

/** The same on a command line, and what is read in the place of `-`. */
function wordsFor(id: AgentId, speech: SpokenCommand): [string[], string] {
  switch (speech.do) {
    case "send":
      return [["send", id, "-", ...flags({ to: speech.to })], speech.message];
    case "respond":
      return [["answer", id, "-", ...flags({ question: speech.question_id })], speech.response];
    case "nudge":
      return [["nudge", id, "-"], speech.message];
    case "assign":
      return [["assign", id, speech.node_id, speech.worker], ""];
    case "cancel":
      return [["cancel", id, speech.node_id, ...(speech.reason ? ["-"] : [])], speech.reason ?? ""];
    case "revoke_permission":
      return [["permissions", id, "--revoke", speech.key], ""];
    case "publish":
      return [["publish", id, speech.node_id, ...flags({ summary: speech.summary && "-" })], speech.summary ?? ""];
    case "accept": {
      const { how, into, title, remote } = speech;
      return [["accept", id, ...flags({ merge: how === "merge", pr: how === "pr", into, title, remote })], ""];
    }
    case "reject":
      return [["reject", id, speech.node_id, "-"], speech.reason];
    case "comment":
      return [
        [
          "comment",
          id,
          speech.node_id,
          `./${speech.path}:${speech.line}`,
          "-",
          ...flags({ old: speech.side === "old" }),
        ],
        speech.text,
      ];
    case "rebase":
      return [["rebase", id, ...(speech.ref === undefined ? [] : [speech.ref])], ""];
    case "restore_work":
      return [["git", "restore", id, speech.ref, ...flags({ into: speech.into })], ""];
  }
}
