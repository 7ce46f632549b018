import type { Question, Situation } from "../../projections/index.ts";
import { failureOf } from "../wording/failure.ts";
import { displayName } from "../wording/names.ts";
import type { Paint } from "../wording/paint.ts";
import { askerName, asksFor, openQuestions, questionText } from "../wording/question-text.ts";
import { cutToWidth, plain, plainLines, widthOf, wrapAfter } from "../wording/width.ts";
import { type Key, LineEditor } from "./line-editor.ts";
import { commonStart, completionsOf, HELP, meaningOf, type Saying } from "./typed-line.ts";

export interface TalkPorts {
  now(): Situation;
  /** Resolves with what becomes of it, once it is on disk. */
  say(saying: Saying): Promise<string>;
  /** Lines for the person. */
  note(...lines: string[]): void;
  command(what: "board" | "stop" | "quit"): void;
  changed(): void;
  /** Which question plain words answer where several are open: one after the other, or only one that is named. */
  several: "first" | "named";
  /** Whether every receipt is told, or only what could not be expected: where facts are shown, they tell the rest. */
  receipts: "all" | "unexpected";
  /** How wide the lines for the person may be; undefined where they are not for a screen. */
  columns(): number | undefined;
  paint: Paint;
}

/**
 * The line in which a person types to a team.
 *
 * TALK-LINE-1. A message goes to the recipient that the line named when the person began to type: a question that opens
 *     or closes meanwhile does not redirect it.
 * TALK-LINE-2. Nothing that was typed is lost silently: a refusal is shown, with the reason.
 */
export class TalkLine {
  readonly #ports: TalkPorts;
  readonly #editor = new LineEditor();
  /** What is being typed answers this; null is nobody's question. Undefined while nothing is typed. */
  #bound: Question | null | undefined;
  #asking: string | undefined;
  /** One after the other, in the order they were typed in. */
  #said: Promise<void> = Promise.resolve();

  constructor(ports: TalkPorts) {
    this.#ports = ports;
  }

  press(letters: string | undefined, key: Key): void {
    if (key.name === "tab") this.#complete();
    else if (key.ctrl && key.name === "d") this.#editor.text === "" && this.#ports.command("quit");
    else {
      const line = this.#editor.press(letters, key);
      if (line !== undefined) this.line(line);
      else if (this.#editor.text === "") this.#bound = undefined;
      else this.#bind();
    }
    this.#ports.changed();
  }

  /** Whether there was something typed to take back. */
  clear(): boolean {
    if (this.#editor.text === "") return false;
    this.#editor.replace("");
    this.#bound = undefined;
    this.#ports.changed();
    return true;
  }

  line(text: string): void {
    const question = this.#bound === undefined ? this.#current() : (this.#bound ?? undefined);
    this.#bound = undefined;
    const typed = meaningOf(text, question);
    switch (typed.kind) {
      case "say":
        this.#say(typed.saying);
        return;
      case "ask_again":
        if (question) this.#show(question);
        return;
      case "wrong":
        this.#refuse(typed.why);
        return;
      case "help":
        this.#ports.note(...HELP.flatMap((line) => this.#helpLines(line)));
        return;
      case "nothing":
        return;
      default:
        this.#ports.command(typed.kind);
    }
  }

  /** Everything that is asked, whole: for somebody who has not seen it being asked. */
  showOpen(): void {
    for (const question of openQuestions(this.#ports.now())) this.#show(question);
    this.#asking = this.#current()?.id;
  }

  /** Something happened: the next of several questions is shown again when its turn has come. */
  look(): void {
    const current = this.#current();
    if (current && this.#asking !== undefined && current.id !== this.#asking) this.#show(current);
    this.#asking = current?.id;
  }

  /** Resolves when everything typed so far has been said. */
  get said(): Promise<void> {
    return this.#said;
  }

  /** The last lines of the screen: what is asked, and what is being typed. */
  draw(columns: number): string[] {
    const { paint, now } = this.#ports;
    const question = this.#bound === undefined ? this.#current() : this.#bound;
    const whom = question
      ? cutToWidth(`answer ${askerName((id) => displayName(now().roster, id), question)}`, columns / 2 - 3)
      : "";
    const prompt = whom === "" ? "› " : `${whom} › `;
    const asked = this.#asked(question, columns);
    const left = columns - widthOf(prompt) - 1;
    if (this.#editor.text === "") {
      const hint = question ? enterHint(question) : "type to talk to the coordinator, /help for more";
      return [...asked, `${paint.bold(prompt)}${caret(" ", paint)}${paint.dim(cutToWidth(` ${hint}`, left))}`];
    }
    const { before, under, after } = this.#editor.view(Math.max(1, left));
    return [...asked, `${paint.bold(prompt)}${before}${caret(under, paint)}${after}`];
  }

  #asked(question: Question | null | undefined, columns: number): string[] {
    const { paint, now } = this.#ports;
    const open = openQuestions(now());
    if (!question) {
      const list = open.map(({ id, worker_id }) => `${id} (${displayName(now().roster, worker_id)})`).join(", ");
      return open.length > 1
        ? [paint.yellow(cutToWidth(`? ${open.length} questions, /answer ID text: ${list}`, columns))]
        : [];
    }
    const others = open.length - 1;
    const more = others > 0 ? ` (and ${others} more)` : "";
    const [first = "", ...rest] = questionText(question);
    // A permission is not given by a line that is cut: it stands above, and Enter shows it again.
    const words = question.permission
      ? `${first} (${rest.length} more lines above; Enter shows them again)`
      : [first, ...rest.map((line) => plain(line))].join(" · ");
    return [
      paint.yellow(
        cutToWidth(`? ${askerName((id) => displayName(now().roster, id), question)}${more}: ${words}`, columns),
      ),
    ];
  }

  #bind(): void {
    if (this.#bound === undefined) this.#bound = this.#current() ?? null;
  }

  #current(): Question | undefined {
    const open = openQuestions(this.#ports.now());
    return open.length === 1 || this.#ports.several === "first" ? open[0] : undefined;
  }

  #say(saying: Saying): void {
    const { say, note, paint, receipts, columns } = this.#ports;
    this.#said = this.#said.then(async () => {
      try {
        const heard = await say(saying);
        if (receipts === "all" || !AS_EXPECTED.test(heard))
          note(...wrapAfter("", plain(heard), columns()).map((line) => paint.dim(line)));
      } catch (error) {
        this.#refuse(failureOf(error).message);
      }
    });
  }

  #refuse(why: string): void {
    const { paint, note, columns } = this.#ports;
    const [first = "", ...rest] = plainLines(why);
    const [head = "", ...more] = wrapAfter("✗ ", first, columns());
    note(`${paint.red("✗")} ${head.slice(2)}`, ...more, ...rest.flatMap((line) => wrapAfter("", line, columns())));
  }

  #helpLines(line: string): string[] {
    const { paint, columns } = this.#ports;
    const [command = ""] = /^ +\/.*? {2,}/.exec(line) ?? [];
    return wrapAfter(command, line.slice(command.length), columns()).map((each) => paint.dim(each));
  }

  #show(question: Question): void {
    const { paint, now, note, columns } = this.#ports;
    const [first = "", ...rest] = questionText(question);
    const asks = `${askerName((id) => displayName(now().roster, id), question)} ${asksFor(question)}: ${first}`;
    const [head = "", ...more] = wrapAfter("? ", asks, columns());
    note(
      `${paint.yellow("?")} ${paint.bold(head.slice(2))}`,
      ...more.map((line) => paint.bold(line)),
      ...rest.flatMap((line) => wrapLine(line, columns())),
    );
  }

  #complete(): void {
    const { now, note, paint } = this.#ports;
    const lines = completionsOf(this.#editor.text, now());
    if (lines.length === 0) return;
    this.#bind();
    const common = commonStart(lines);
    if (common.length > this.#editor.text.length) this.#editor.replace(common);
    else note(paint.dim(lines.map((line) => line.trim()).join("  ")));
  }
}

/** What a program wants to do stands as it wrote it, in its box; all else breaks at words, a choice under its words. */
function wrapLine(line: string, columns: number | undefined): string[] {
  if (/^\s*│/.test(line)) return [`  ${line}`];
  const [prefix = ""] = /^\s*(?:\d+ {2})?/.exec(line) ?? [];
  return wrapAfter(`  ${prefix}`, line.slice(prefix.length), columns);
}

const AS_EXPECTED = /^(Sent to \S+\.|Answered\.|The coordinator hears it before its next turn\.)$/;

function enterHint({ choices, only_choices, default: fallback }: Question): string {
  const words = only_choices ? "the choice's words" : "your own words";
  const number = choices ? `a number or ${words}` : "your answer";
  const alone = fallback === undefined ? "" : `; Enter alone: ${plain(fallback)}`;
  return `${number}${alone}; /say for a message instead`;
}

/** Where the next letter goes. Without colours a bar must do. */
function caret(under: string, paint: Paint): string {
  return paint.isColorSupported ? paint.inverse(under) : `▏${under === " " ? "" : under}`;
}
