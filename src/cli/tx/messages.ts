import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { sendFromAgent } from "../../mesh/files/agent-outbox.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import { parse } from "../../mesh/files/message-file.ts";
import { stemOf } from "../../mesh/files/message-names.ts";
import { type NewMessage, putMessage, queueOf } from "../../mesh/files/new-message.ts";
import { SessionNotes } from "../../mesh/terminal/session-notes.ts";
import type { MessageHeader } from "../../protocol/index.ts";
import { watchFolder } from "../../store/disk/watch-folder.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { layoutOf, parsedAddress, runningMeshes, type TxCall } from "./project.ts";

interface SendOptions {
  type?: MessageHeader["type"];
  answer?: string;
  wait?: boolean;
}

export async function send(
  call: TxCall,
  to: string,
  text: string,
  { type, answer, wait = false }: SendOptions,
): Promise<ExitCode> {
  const kind = type ?? (answer === undefined ? "task" : "ask-response");
  if (wait && call.speaker)
    throw new UsageError("Leave out --wait: an agent that sends a task is told when the task is done.");
  if (wait && kind !== "task")
    throw new UsageError("--wait is only for tasks. To wait for the answer to a question: tx ask … --wait");
  const body = await wordsFrom(call, [text]);
  if (wait) return sendAndWait(call, to, body);
  return speak(call, { to, type: kind, body, ...(answer !== undefined && { answers: answer }) });
}

export async function done(call: TxCall, words: string[], { failed = false }: { failed?: boolean }): Promise<ExitCode> {
  const speaker = speakerIn(call);
  const body = words.length > 0 ? await wordsFrom(call, words) : failed ? "It cannot be done." : "Done.";
  // It cannot mean a task that it was told after this command was started.
  const told = notesIn(call)?.toldBefore(performance.timeOrigin);
  if (told !== undefined) refuseIfOver(layoutOf(call), speaker, told);
  const answers = told === undefined ? {} : { answers: stemOf(told) };
  return speak(call, { to: "mesh", type: failed ? "error" : "task-complete", body, ...answers });
}

function refuseIfOver(layout: Layout, speaker: { mesh: string; agent: string }, told: string): void {
  const queue = queueOf(layout, speaker, told);
  if (queue === "active" || queue === "next" || queue === "inbox") return;
  throw new Refusal(
    `${told}, the last task this session was given, has already ended, so nothing was changed. The next task arrives automatically; tx next shows your current one.`,
  );
}

/** The active task of the calling agent. The next task is delivered automatically when this one is done. */
export async function next(call: TxCall): Promise<ExitCode> {
  const { terminal, json } = call;
  const layout = layoutOf(call);
  const speaker = speakerIn(call);
  const [name] = await messagesIn(layout, speaker, "active");
  if (name === undefined) {
    const waiting =
      (await messagesIn(layout, speaker, "next")).length + (await messagesIn(layout, speaker, "inbox")).length;
    if (json) await terminal.printJson({ task: null, waiting });
    terminal.say(
      waiting > 0
        ? `No task now. Waiting: ${waiting}. The next one is given to you by itself.`
        : "There is no task for you now.",
    );
    return EXIT.done;
  }
  notesIn(call)?.tell(name, Date.now());
  const path = join(layout.queue(speaker, "active"), name);
  const parsed = parse(await readFile(path, "utf8"));
  const body = parsed.ok ? parsed.body.trim() : "";
  if (json) await terminal.printJson({ task: name, path, from: parsed.ok ? parsed.header.from : null, body });
  else await terminal.printLines([body]);
  terminal.say(`This is ${path}. When it is done: tx done "what you did"`);
  return EXIT.done;
}

export async function ask(
  call: TxCall,
  to: string,
  question: string,
  { wait = false }: { wait?: boolean },
): Promise<ExitCode> {
  const body = await wordsFrom(call, [question]);
  if (!wait) return speak(call, { to, type: "ask", body });
  const layout = layoutOf(call);
  const speaker = speakerIn(call);
  const notes = notesIn(call);
  const said = await sendFromAgent(layout, speaker, new Date(), {
    ...{ to, type: "ask", body },
    named: (name) => notes?.awaits(stemOf(name)),
  });
  if (said.kind === "refused") throw new Refusal(said.reason);
  const asked = stemOf(said.name);
  const answer = await answerTo(layout, speaker, asked);
  notes?.hasTaken(asked);
  if (call.json) await call.terminal.printJson({ asked: said.name, answer });
  else await call.terminal.printLines([answer]);
  return EXIT.done;
}

type MessageToSend = Omit<NewMessage, "from">;

async function sendAndWait(call: TxCall, to: string, body: string): Promise<ExitCode> {
  const layout = layoutOf(call);
  const address = await parsedAddress(layout, to);
  const { readyToWait, waitFor } = await import("./results.ts");
  const ready = await readyToWait(call, address.mesh);
  if (!ready) {
    call.terminal.say(`${address.mesh} is not trusted, so none of it runs. Review it: tx trust ${address.mesh}`);
    return EXIT.waiting;
  }
  const task = putMessage(layout, address, "inbox", new Date(), { to, type: "task", body, from: "human" });
  return waitFor(call, ready, address, task);
}

async function speak(call: TxCall, message: MessageToSend): Promise<ExitCode> {
  const { terminal, json, speaker } = call;
  const layout = layoutOf(call);
  if (!speaker) return speakAsPerson(call, layout, message);
  const said = await sendFromAgent(layout, speaker, new Date(), message);
  if (said.kind === "refused") throw new Refusal(said.reason);
  // Then the end of its turn means waiting.
  if (message.type === "ask" || message.type === "task") notesIn(call)?.asks(Date.now());
  if (json) await terminal.printJson({ message: said.name, from: speaker, to: message.to, status: said.kind });
  terminal.say(
    said.kind === "taken" ? WORDS[message.type] : "It waits in your outbox until the meshes are started (tx start).",
  );
  return EXIT.done;
}

const WORDS: Readonly<Record<MessageHeader["type"], string>> = {
  task: "Sent. You are told when it is done.",
  ask: "Asked. The answer will be given to you. Go on, or end your turn.",
  "ask-response": "Answered.",
  "task-complete": "Done. The next task comes by itself.",
  error: "Recorded. The task has ended.",
};

/** Puts it straight into the inbox of `mesh` or `mesh/agent`. */
async function speakAsPerson(call: TxCall, layout: Layout, message: MessageToSend): Promise<ExitCode> {
  const { terminal, json } = call;
  if (message.to === "human") throw new UsageError("Only an agent can ask the human. Say which one: --as mesh/agent");
  const address = await parsedAddress(layout, message.to);
  const file = putMessage(layout, address, "inbox", new Date(), { ...message, from: "human" });
  if (json) await terminal.printJson({ message: file, ...address });
  else await terminal.printLines([join(layout.queue(address, "inbox"), file)]);
  if (!(await runningMeshes(call, layout).catch(() => undefined)))
    terminal.say("It waits there until the meshes are started: tx start");
  return EXIT.done;
}

/** The notes of the session that this is called in; none if it speaks for another agent. */
function notesIn({ speaker, terminal: { env } }: TxCall): SessionNotes | undefined {
  if (!env.TX_SESSION || speaker?.mesh !== env.TX_MESH || speaker?.agent !== env.TX_AGENT) return undefined;
  return new SessionNotes(env.TX_SESSION);
}

function speakerIn({ speaker }: TxCall): { mesh: string; agent: string } {
  if (speaker) return speaker;
  throw new UsageError("Only an agent in its session can do this. Outside of one, say which agent: --as mesh/agent");
}

async function wordsFrom({ terminal }: TxCall, words: readonly string[]): Promise<string> {
  const text = words.length === 1 && words[0] === "-" ? await textOf(terminal.stdin) : words.join(" ");
  if (text.trim() === "") throw new UsageError("The message is empty.");
  return text;
}

async function messagesIn(
  layout: Layout,
  address: { mesh: string; agent: string },
  queue: "inbox" | "next" | "active",
): Promise<string[]> {
  const names = await readdir(layout.queue(address, queue)).catch(() => []);
  return names.filter((name) => name.endsWith(".md")).toSorted();
}

/** The answer comes to the inbox and moves on from there; wherever it is, it names its question. */
async function answerTo(layout: Layout, address: { mesh: string; agent: string }, asked: string): Promise<string> {
  const dirs = (["inbox", "complete"] as const).map((queue) => layout.queue(address, queue));
  const seen = new Set<string>();
  const look = async (): Promise<string | undefined> => {
    for (const dir of dirs) {
      for (const name of await readdir(dir).catch(() => [])) {
        const path = join(dir, name);
        if (!name.endsWith(".md") || seen.has(path)) continue;
        const parsed = parse(await readFile(path, "utf8").catch(() => ""));
        if (!parsed.ok) continue;
        seen.add(path);
        const { type, "in-reply-to": answers } = parsed.header;
        // The file repeats the question for later readers; here it is known.
        if (type === "ask-response" && answers === asked)
          return parsed.body.replace(/\n\n\(You had asked: [^\n]*\)\s*$/, "").trim();
      }
    }
    return undefined;
  };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let looking = Promise.resolve();
  const again = () => {
    looking = looking.then(look).then((answer) => (answer === undefined ? undefined : resolve(answer)), reject);
  };
  const watchers = dirs.filter((dir) => existsSync(dir)).map((dir) => watchFolder(dir, again));
  again();
  try {
    return await promise;
  } finally {
    for (const watcher of watchers) watcher.close();
  }
}
