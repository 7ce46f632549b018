import { createInterface } from "node:readline";
import type { ApiClient } from "../../client/client.ts";
import type { Layout, MeshAddress } from "../../mesh/files/layout.ts";
import { addressName } from "../../mesh/files/layout.ts";
import { putMessage } from "../../mesh/files/new-message.ts";
import type { Fact } from "../../protocol/index.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { factLine } from "../wording/fact-line.ts";
import { cutToWidth } from "../wording/width.ts";
import { isNews } from "./log.ts";
import { layoutOf, parsedAddress, startedMeshes, type TxCall } from "./project.ts";
import { followProject, meshOf, type ProjectRecord } from "./project-record.ts";
import { endIn, readyToWait, show } from "./results.ts";

/**
 * A conversation with a mesh, or with one of its agents: a line is a task for the one that leads it, and what comes of it is
 * printed. Its sessions stay, so that it knows what was said before.
 *
 * TX-CHAT-1. Each line is a task of its own, in the order they were typed in; also while the mesh works on another.
 * TX-CHAT-2. A line answers a question only with `/answer`: one that comes while a person types takes no words from them.
 * TX-CHAT-3. When there are no more lines, it waits for the tasks that were given. Ctrl-C leaves them at work.
 */
export async function chat(call: TxCall, to: string): Promise<ExitCode> {
  const { terminal } = call;
  if (call.speaker) throw new UsageError("Only a person can chat with a mesh. An agent sends: tx send");
  const layout = layoutOf(call);
  const address = await parsedAddress(layout, to);
  const { client } = await startedMeshes(call, layout);
  const ready = await readyToWait(call, address.mesh);
  if (!ready) {
    terminal.say(`${address.mesh} is not trusted, so none of it runs. Review it: tx trust ${address.mesh}`);
    return EXIT.waiting;
  }
  terminal.say(
    `You talk to ${to}. A line is a task; /answer WORDS answers a question; Ctrl-D ends it when all is done.`,
  );
  const conversation = new MeshChat(call, layout, address, client, ready.record);
  const lines = createInterface({ input: terminal.stdin, terminal: false });
  lines.on("line", (line) => conversation.line(line)).on("close", () => conversation.inputEnds());
  try {
    return await conversation.follow(ready.after);
  } finally {
    lines.close();
    terminal.stdin.pause();
  }
}

class MeshChat {
  readonly #call: TxCall;
  readonly #layout: Layout;
  readonly #address: MeshAddress;
  readonly #client: ApiClient;
  readonly #record: ProjectRecord;
  /** Tasks that were given and have not ended. */
  readonly #open = new Set<string>();
  /** Those that wait for an answer, the oldest first. */
  readonly #questions = new Map<string, string>();
  readonly #over = new AbortController();
  #hasMore = true;
  #hasFailed = false;
  #answering: Promise<void> = Promise.resolve();

  constructor(call: TxCall, layout: Layout, address: MeshAddress, client: ApiClient, record: ProjectRecord) {
    this.#call = call;
    this.#layout = layout;
    this.#address = address;
    this.#client = client;
    this.#record = record;
  }

  line(text: string): void {
    const words = text.trim();
    const [, answer] = /^\/answer\s+(.+)$/s.exec(words) ?? [];
    if (answer !== undefined) this.#answer(answer);
    else if (words.startsWith("/")) this.#note(`There is no "${words}". Answer a question with: /answer WORDS`);
    else if (words !== "") {
      const message = { to: addressName(this.#address), type: "task", from: "human", body: words } as const;
      this.#open.add(putMessage(this.#layout, this.#address, "inbox", new Date(), message));
    }
  }

  inputEnds(): void {
    this.#hasMore = false;
    this.#endIfDone();
  }

  async follow(after: number): Promise<ExitCode> {
    const { roster } = await this.#record.situation();
    const take = async (fact: Fact) => {
      if (meshOf(fact, roster) === this.#address.mesh || fact.type === "human.response") await this.#take(fact);
      return undefined;
    };
    await followProject(this.#call, this.#record.log, after, take, this.#over.signal);
    await this.#answering;
    if (this.#over.signal.aborted) return this.#hasFailed ? EXIT.failed : EXIT.done;
    const { mesh } = this.#address;
    if (this.#open.size > 0)
      this.#note(`${mesh} continues without you. To see the result: tx result ${addressName(this.#address)}`);
    return EXIT.interrupted;
  }

  async #take(fact: Fact): Promise<void> {
    if (fact.type === "human.response") {
      if (fact.data.question_id) this.#questions.delete(fact.data.question_id);
      return;
    }
    if (fact.type === "human.question") return this.#asked(fact.data);
    for (const task of this.#open) {
      const end = endIn(fact, this.#address, task);
      if (!end) continue;
      this.#open.delete(task);
      if ((await show(this.#call, this.#layout, end)) !== EXIT.done) this.#hasFailed = true;
      return this.#endIfDone();
    }
    if (isNews(fact)) this.#note(cutToWidth(factLine(fact), Math.max(20, this.#call.terminal.lineColumns)));
  }

  #asked({ question_id, text, choices }: Extract<Fact, { type: "human.question" }>["data"]): void {
    this.#questions.set(question_id, text);
    const { terminal } = this.#call;
    const which = choices ? ` (${choices.join(" / ")})` : "";
    terminal.say(`${terminal.errPaint.yellow("?")} ${text}\n  Answer: /answer WORDS${which}`);
  }

  /** The oldest question: it was shown first. */
  #answer(response: string): void {
    const [question_id] = this.#questions.keys();
    if (question_id === undefined) {
      this.#note("No question waits for an answer.");
      return;
    }
    this.#questions.delete(question_id);
    const give = () => this.#client.give({ do: "respond", id: this.#record.id, response, question_id });
    this.#answering = this.#answering.then(async () => {
      await give().catch((error: unknown) => this.#note(error instanceof Error ? error.message : String(error)));
    });
  }

  #endIfDone(): void {
    if (!this.#hasMore && this.#open.size === 0) this.#over.abort();
  }

  #note(text: string): void {
    const { terminal } = this.#call;
    terminal.say(terminal.errPaint.dim(text));
  }
}
