import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { HOW_BY_FILES } from "../../mesh/declaration/prompt.ts";
import type { SendOutcome } from "../../mesh/files/agent-outbox.ts";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import { stemOf } from "../../mesh/files/message-names.ts";
import { BEGUN_BEFORE } from "../../mesh/files/message-text.ts";
import type { Member } from "../../mesh/running/member.ts";
import { COORDINATOR, type ProgramProfile } from "../../protocol/index.ts";
import type { Binds } from "../../sandbox/index.ts";
import { allFilesIn, readPart } from "../../store/disk/foreign-folder.ts";
import { PROTOCOL_FILES } from "../../store/run/publish.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { OutsideEvent, OutsideSession } from "../../workers/outside/session/session.ts";
import { BOUNDS, type CopyOrder, copyFiles, filesBelow, MOST_BYTES } from "./output-files.ts";

export interface PlainPorts {
  outside: ProgramPorts;
  profile: ProgramProfile;
  home: string;
  /** Its own folder; each run has one of its own in there. */
  workspace: string;
  /** The folder for what the mesh makes, and one in it for what somebody else has made under the same name meanwhile. */
  output: string;
  ownOutput: string;
  /** What it may reach for what this message asks, looked up at each start; and its clone of the repository, if it has one. */
  reachFor(message: MeshMessage): Promise<{ binds: Binds; clone: string | undefined }>;
  /** For its environment and `_context.json`. */
  about: Readonly<Record<string, string>>;
  prompt(): Promise<string>;
  isActive(name: string): boolean;
  say(message: {
    to: string;
    type: MeshMessage["header"]["type"];
    body: string;
    answers?: string;
  }): Promise<SendOutcome>;
  record(state: "starting" | "busy" | "idle" | "dead" | "gone", detail?: string): void;
}

/**
 * A mesh agent that is any program, without a terminal. It has neither turns nor tools, so each task and each question
 * is one run of it, through the files of the autonomous protocol.
 *
 * PLAIN-MEMBER-1. It works in a folder of its own and writes nothing to the user's project. Its files go to
 *     shared/output; if the same file was written there since the run began, by another agent or by itself, that one
 *     stays, and the one of its folder goes to shared/output/AGENT.
 * PLAIN-MEMBER-2. Its task ends with `_result.md`, or else with its exit: exit code 0 means done, with what it printed
 *     as its result; anything else means failed, with its last output.
 * PLAIN-MEMBER-3. Messages that come while it runs are in `_inbox.md`; what it writes to `_outbox.md` is sent, as an
 *     answer if the receiver had asked it something.
 * PLAIN-MEMBER-4. If it cannot be started, or what it made cannot be taken, its task fails and says why.
 */
export class PlainMember implements Member {
  readonly #ports: PlainPorts;
  readonly #stop = new AbortController();
  #run: Run | undefined;
  /** One run after the other, in the order of their messages. */
  #beginning: Promise<void> = Promise.resolve();

  constructor(ports: PlainPorts) {
    this.#ports = ports;
  }

  async tell(message: MeshMessage): Promise<void> {
    const isWork = message.header.type === "task" || message.header.type === "ask";
    const run = this.#run;
    if (run && !run.isOver && message.header.type !== "task") {
      if (message.header.type === "ask")
        run.asked.set(message.header.from, message.header["msg-id"] ?? stemOf(message.name));
      await run.session.say(`${message.header.from}: ${message.body.trim()}`);
      return;
    }
    // News changes nothing while it does not run: the next run reads what there is.
    if (!isWork) return;
    const begun = this.#beginning.then(async () => {
      await this.#run?.ended;
      this.#stop.signal.throwIfAborted();
      await this.#begin(message).catch((error: unknown) => this.#couldNot(message, "It could not be started", error));
    });
    this.#beginning = begun.catch(() => {});
    await begun;
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("closed"));
    const run = this.#run;
    await run?.session.close();
    await run?.ended;
    this.#ports.record("gone");
  }

  async #begin(message: MeshMessage): Promise<void> {
    const { outside, profile, home, workspace, output, reachFor, about, prompt } = this.#ports;
    const { binds, clone } = await reachFor(message);
    this.#ports.record("starting");
    await outside.makeHome(profile, home);
    const cwd = join(workspace, stemOf(message.name));
    const isNew = (await mkdir(cwd, { recursive: true })) !== undefined;
    // With a result it was done, and is now wanted again.
    const isBegun = !isNew && existsSync(join(cwd, "_task.md")) && !existsSync(join(cwd, "_result.md"));
    const began = await clockOf(cwd);
    const adapter = await outside.adapter(profile.kind);
    const own = { ...profile, set: { ...profile.set, ...about, TX_OUTPUT: output, ...(clone && { TX_REPO: clone }) } };
    const { from, type } = message.header;
    const session = await adapter({
      profile: own,
      system: await prompt(),
      words: isBegun ? `${message.body.trim()}\n\n(${BEGUN_BEFORE})` : message.body.trim(),
      how: HOW_BY_FILES,
      context: { ...about, output, ...(clone && { repository: clone }), message: message.name, type, from },
      resume: null,
      model: null,
      assigned: numberOf(message.name),
      cwd,
      home,
      start: async (launch) =>
        outside.start({
          profile: own,
          tools: new Toolbox([]),
          binds,
          cwd,
          home,
          launch,
          signal: this.#stop.signal,
        }),
    });
    const run: Run = {
      session,
      message,
      cwd,
      began,
      asked: new Map(),
      words: "",
      notes: "",
      isOver: false,
      ended: Promise.resolve(),
    };
    this.#run = run;
    this.#ports.record("busy");
    run.ended = this.#follow(run)
      .catch((error: unknown) => this.#stopped(run, error))
      .catch(() => {}); // nothing can be written now: that it is dead is recorded
  }

  /** PLAIN-MEMBER-4. */
  async #stopped(run: Run, error: unknown): Promise<void> {
    const isOver = run.isOver;
    run.isOver = true;
    await run.session.close();
    const what = `What it made could not be taken (its files are kept in ${run.cwd})`;
    if (isOver) this.#ports.record("dead", errorText(error));
    else await this.#couldNot(run.message, what, error, run.words);
  }

  /** PLAIN-MEMBER-4. */
  async #couldNot(message: MeshMessage, what: string, error: unknown, words = ""): Promise<void> {
    if (this.#stop.signal.aborted) throw error;
    const why = `${what}: ${errorText(error)}`;
    this.#ports.record("dead", why);
    await this.#answer(message, "error", words ? `${why}\n\n${words}` : why);
  }

  async #follow(run: Run): Promise<void> {
    for await (const event of run.session.events) await this.#take(run, event);
  }

  async #take(run: Run, event: OutsideEvent): Promise<void> {
    switch (event.kind) {
      case "requested_call":
        await this.#wishes(run, event);
        return;
      case "said":
        run.words = event.text;
        return;
      case "noted":
        run.notes = event.text;
        return;
      case "exited":
        await this.#exited(run, event);
        return;
      default:
        return;
    }
  }

  async #wishes(run: Run, { tool, args }: Extract<OutsideEvent, { kind: "requested_call" }>): Promise<void> {
    const words = String(args.summary ?? args.content ?? args.suggestion ?? "");
    if (tool === "publish") {
      await this.#end(run, words);
      // Its work has ended; nobody needs what it would still do.
      void run.session.close();
    } else if (tool === "send_message") await this.#send(run, String(args.to ?? ""), words);
    else if (tool === "suggest_next")
      await this.#ports.say({ to: "human", type: "ask-response", body: `A suggestion: ${words}` });
  }

  /** PLAIN-MEMBER-3. */
  async #send(run: Run, name: string, body: string): Promise<void> {
    const to = name === COORDINATOR ? "mesh" : name;
    const asker = [...run.asked.keys()].find((from) => from === to || from.endsWith(`/${to}`));
    const answers = asker === undefined ? undefined : run.asked.get(asker);
    if (asker !== undefined) run.asked.delete(asker);
    const said = await this.#ports.say(
      answers === undefined ? { to, type: "ask", body } : { to: asker ?? to, type: "ask-response", body, answers },
    );
    if (said.kind === "refused") await run.session.say(`Your words to ${name} were not sent. ${said.reason}`);
  }

  async #exited(run: Run, { code, signal, exceeded }: Extract<OutsideEvent, { kind: "exited" }>): Promise<void> {
    if (!run.isOver && !this.#stop.signal.aborted) {
      if (code === 0) await this.#end(run, run.words || "It succeeded (exit code 0) and printed nothing.");
      else {
        const how = exceeded
          ? `it used more ${exceeded} than it is allowed`
          : `it ended with ${signal ?? code ?? "no code"}`;
        const last = run.notes || run.words;
        await this.#answer(run.message, "error", `The program failed: ${how}.${last ? `\n\n${last}` : ""}`);
        run.isOver = true;
        this.#ports.record("dead", how);
        return;
      }
    }
    if (!this.#stop.signal.aborted) this.#ports.record("idle");
  }

  /** PLAIN-MEMBER-1, PLAIN-MEMBER-2. */
  async #end(run: Run, words: string): Promise<void> {
    if (run.isOver) return;
    run.words = words;
    const notes: string[] = [];
    const made = (await filesBelow(run.cwd)).filter((file) => !PROTOCOL_FILES.includes(file));
    // If it made nothing but words, the adapter has put them into a file; they are sent already.
    const isWords = made.length === 1 && made[0] === "result.md" && (await textOf(run.cwd)) === words.trim();
    const isMeant = (file: string) => !isWords && made.includes(file);
    await this.#copy(run, { isMeant, note: (text) => notes.push(text) });
    await this.#answer(run.message, "task-complete", [words, ...notes].join("\n\n"));
    run.isOver = true;
  }

  /** PLAIN-MEMBER-1. One agent of a mesh after the other: two that end at once see each other's files. */
  #copy(run: Run, order: Required<Pick<CopyOrder, "isMeant" | "note">>): Promise<void> {
    const { output, ownOutput } = this.#ports;
    const copied = (copying.get(output) ?? Promise.resolve()).then(async () => {
      const { files } = await allFilesIn(output, [], BOUNDS);
      const newer = new Set(files.filter(({ at }) => at * 1000 >= run.began).map(({ path }) => path));
      const isTaken = async (file: string, place: string) =>
        newer.has(place) && !(await isSameFile([run.cwd, file], [output, place]));
      const [moved, left] = [new Map<string, string>(), new Set<string>()];
      for (const file of (await filesBelow(run.cwd)).filter(order.isMeant)) {
        if (!(await isTaken(file, file))) continue;
        const own = `${basename(ownOutput)}/${file}`;
        if (await isTaken(file, own)) left.add(file);
        else moved.set(file, own);
      }
      const isMeant = (file: string) => order.isMeant(file) && !left.has(file);
      await copyFiles(run.cwd, output, { ...order, isMeant, placeOf: (file) => moved.get(file) ?? file });
      const already = "shared/output has files of the same name that were written during this run";
      if (moved.size > 0) order.note(`${already}; these of its folder are in ${[...moved.values()].join(", ")}.`);
      if (left.size > 0) order.note(`${already}; these stay in ${run.cwd}: ${[...left].join(", ")}.`);
    });
    const done = copied.catch(() => {});
    copying.set(output, done);
    void done.then(() => copying.get(output) === done && copying.delete(output));
    return copied;
  }

  async #answer(message: MeshMessage, type: "task-complete" | "error", body: string): Promise<void> {
    const { from, type: asked, "msg-id": id } = message.header;
    if (asked === "ask")
      await this.#ports.say({ to: from, type: "ask-response", body, answers: id ?? stemOf(message.name) });
    else if (this.#ports.isActive(message.name))
      await this.#ports.say({ to: "mesh", type, body, answers: stemOf(message.name) });
  }
}

interface Run {
  session: OutsideSession;
  message: MeshMessage;
  cwd: string;
  /** When it began, in milliseconds by the clock of the files. */
  began: number;
  /** The agents that have asked it something while it runs, with the id of their question. */
  asked: Map<string, string>;
  words: string;
  notes: string;
  isOver: boolean;
  ended: Promise<void>;
}

/** Who copies to which folder now. */
const copying = new Map<string, Promise<void>>();

/** Now, by the clock of the files, which may differ from ours and is coarser. */
async function clockOf(dir: string): Promise<number> {
  await chmod(dir, (await stat(dir)).mode);
  return (await stat(dir)).ctimeMs;
}

type InFolder = [folder: string, path: string];

async function isSameFile(...both: [InFolder, InFolder]): Promise<boolean> {
  const [a, b] = await Promise.all(both.map(([folder, path]) => readPart(folder, path, 0, MOST_BYTES)));
  return a !== undefined && b !== undefined && a.equals(b);
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function textOf(cwd: string): Promise<string | undefined> {
  return (await readPart(cwd, "result.md", 0, MOST_BYTES))?.toString("utf8").trim();
}

/** The same number for the same message, also after a restart. */
function numberOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE(0);
}
