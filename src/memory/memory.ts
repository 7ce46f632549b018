import { oneAtATime } from "../boundary/one-at-a-time.ts";
import type { MemoryFiles, StampedFile } from "../store/run/memory-files.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { wallTime } from "./dates.ts";
import { superseded, without } from "./edits.ts";
import { ownPart, withListing } from "./listing.ts";
import { type Mark, marked, withoutMark } from "./marks.ts";
import type { Searchable } from "./search.ts";
import { keepVersion, readVersion, type Version, versionsOf } from "./versions.ts";

const MAX_MEMORY_FILE_BYTES = 1024 * 1024;
const DAILY_LOG = /^\d{4}-\d{2}-\d{2}\.md$/;
const INDEX = "index.md";
/** The prefix under which an agent sees the memory that all agents of its human share. */
const PERSON = "person/";

/**
 * What an agent, or a worker, keeps for later.
 *
 * MEMORY-1. Adding the same entry twice in a row adds it once, since a call interrupted by a crash may be repeated.
 * MEMORY-2. A daily log only grows.
 * MEMORY-3. `index.md` lists what is stored, below what its owner wrote there, and is updated after every write.
 * MEMORY-4. One writer at a time per memory. Changes saved by hand meanwhile are not overwritten: the file is read
 *     again right before it is written.
 * MEMORY-5. What is replaced or forgotten in an agent's memory is kept as a version, and can be restored.
 * MEMORY-6. `person/…` is the memory that all agents of the home share, if the human chose so; all these promises hold
 *     there, too.
 */
export class Memory {
  readonly files: MemoryFiles;
  readonly #time: PersonsTime;
  /** What its reader last saw of a file. */
  readonly #seen = new Map<string, string>();
  readonly #person: Memory | undefined;

  constructor(files: MemoryFiles, time: PersonsTime, person?: MemoryFiles) {
    this.files = files;
    this.#time = time;
    this.#person = person && new Memory(person, time);
  }

  /** Whose days its files are of. */
  get timeZone(): string {
    return this.#time.timeZone;
  }

  /** Today's daily log. */
  get today(): string {
    return `${this.#stamp().slice(0, 10)}.md`;
  }

  /** The day of an instant, as daily logs are named. */
  dayOf(at: number): string {
    return wallTime(at, this.timeZone).slice(0, 10);
  }

  /**
   * Resolves with the file as seen from the agent's folder. Rejects with ScopeRefusal, in words for who wrote. What is added
   * `by` somebody is marked with that and the day.
   */
  async write(path: string, content: string, mode: "append" | "replace", by?: string): Promise<WrittenNote> {
    const [shared, file] = this.#placeOf(path);
    if (shared) return shared.write(file, content, mode, by);
    if (content.trim() === "") throw new ScopeRefusal("invalid", "There is nothing to remember in empty content.");
    if (mode === "append") return this.#change(file, (before) => this.#appended(file, before, content.trim(), by));
    mustNotBeLog(file);
    return this.#change(file, (before) => {
      this.#mustBeAsSeen(file, before);
      return `${content.trim()}\n`;
    });
  }

  /** Puts new words in the place of old ones, which must stand there exactly once. */
  async supersede(path: string, old: string, content: string, by?: string): Promise<WrittenNote> {
    const [shared, file] = this.#placeOf(path);
    if (shared) return shared.supersede(file, old, content, by);
    mustNotBeLog(file);
    return this.#change(file, (before) => superseded(old.trim(), content.trim(), this.#markBy(file, by), before, file));
  }

  /** Takes words out of a file: a section by its heading line, or any text that stands there exactly once. */
  async forget(path: string, what: string): Promise<WrittenNote> {
    const [shared, file] = this.#placeOf(path);
    if (shared) return shared.forget(file, what);
    mustNotBeLog(file);
    return this.#change(file, (before) => {
      const rest = without(what.trim(), before, file).trim();
      return rest === "" ? "" : `${rest}\n`;
    });
  }

  /** What is kept of what a file said before, newest first. */
  async versions(path: string): Promise<Version[]> {
    const [shared, file] = this.#placeOf(path);
    return shared ? shared.versions(file) : versionsOf(this.files, file);
  }

  /** Brings back what the file said before it was last replaced, or a version by its name; undoing again undoes that. */
  async undo(path: string, version?: string): Promise<WrittenNote & { version: string }> {
    const [shared, file] = this.#placeOf(path);
    if (shared) return shared.undo(file, version);
    const versions = await this.versions(path);
    const wanted = version === undefined ? versions[0] : versions.find(({ name }) => name === version);
    if (!wanted)
      throw new ScopeRefusal(
        "invalid",
        `There is no earlier version of ${file}${version ? ` called ${version}` : ""}.`,
      );
    const text = await readVersion(this.files, file, wanted.name);
    return { ...(await this.#change(file, () => text)), version: wanted.name };
  }

  async read(path: string): Promise<string> {
    const [shared, file] = this.#placeOf(path);
    if (shared) return shared.read(file);
    const { bytes, truncated } = await this.files.scope.readFile(file, { maxBytes: MAX_MEMORY_FILE_BYTES });
    const text = bytes.toString("utf8");
    this.#seen.set(file, text);
    return `${text}${truncated ? `\n(${path} goes on; this is its beginning.)` : ""}`;
  }

  /** Empty where there is no such file. */
  async readIfThere(path: string): Promise<string> {
    try {
      return await this.read(path);
    } catch (error) {
      if (error instanceof FileNotFound) return "";
      throw error;
    }
  }

  async list(): Promise<StampedFile[]> {
    const shared = (await this.#person?.list()) ?? [];
    return [...(await this.files.list()), ...shared.map((file) => ({ ...file, path: `${PERSON}${file.path}` }))];
  }

  /** The text of a file as it is, for anyone who does not act on it; undefined where it cannot be read. */
  get searchable(): Searchable {
    const person = this.#person?.files.scope;
    const { scope, indexFile } = this.files;
    const readFile: Searchable["scope"]["readFile"] = (path, options) =>
      person && path.startsWith(PERSON)
        ? person.readFile(path.slice(PERSON.length), options)
        : scope.readFile(path, options);
    return { list: () => this.list(), scope: { readFile }, indexFile };
  }

  /** Whether there is a memory that all agents of the home share, and this is a file of it. */
  isShared(path: string): boolean {
    return this.#placeOf(path)[0] !== undefined;
  }

  /** Daily logs, newest first. */
  async dailyLogs(): Promise<string[]> {
    return (await this.list()).flatMap(({ path }) => (DAILY_LOG.test(path) ? path : [])).reverse();
  }

  /** People add and remove files by hand: the listing is made from what is there. Only an agent's memory has one. */
  async refreshIndex(): Promise<void> {
    await oneAtATime(this.files.root, () => this.#listAnew());
    await this.#person?.refreshIndex();
  }

  #placeOf(path: string): [Memory | undefined, string] {
    const file = noteNameOf(path);
    return this.#person && file.startsWith(PERSON) ? [this.#person, file.slice(PERSON.length)] : [undefined, file];
  }

  #markBy(file: string, by: string | undefined): Mark | undefined {
    return by === undefined || DAILY_LOG.test(file) || file === INDEX
      ? undefined
      : { day: this.today.slice(0, 10), by };
  }

  async #listAnew(): Promise<void> {
    if (this.files.indexFile === null) return;
    const before = await this.#textOf(INDEX);
    if (before === "" && (await this.files.list()).every(({ bytes }) => bytes === 0)) return;
    const after = await withListing(this.files, before);
    if (after !== before) await this.#put(INDEX, after);
  }

  /** Reads, decides, and writes if nobody saved anything in between. */
  #change(file: string, after: (before: string) => string): Promise<WrittenNote> {
    return oneAtATime(this.files.root, async () => {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const before = await this.#textBefore(file);
        const text = after(before);
        const whole = file === INDEX ? await withListing(this.files, text) : text;
        if (isLost(file === INDEX ? ownPart(before) : before, text)) await this.#keep(file, before);
        if ((await this.#textOf(file)) !== before) continue;
        await this.#put(file, whole);
        if (file !== INDEX) await this.#listAnew();
        const bytes = Buffer.byteLength(text);
        const isTooLong = file === ALWAYS_SHOWN && bytes > SHOWN_BYTES;
        const outgrown = isTooLong && Buffer.byteLength(before) <= SHOWN_BYTES;
        const told = isTooLong ? { warning: tooLongToShow(bytes), ...(outgrown && { outgrown }) } : {};
        return { path: this.files.inHome(file), bytes, ...told };
      }
      throw new ScopeRefusal("invalid", `${file} is being written by somebody else right now. Try again in a moment.`);
    });
  }

  /** A worker's memory ends with its run and has two fixed files: nothing is kept beside them. */
  async #keep(file: string, text: string): Promise<void> {
    if (this.files.indexFile !== null) await keepVersion(this.files, file, text, this.#time.now());
  }

  #mustBeAsSeen(file: string, before: string): void {
    const seen = this.#seen.get(file);
    if (seen === undefined || seen === before) return;
    throw new ScopeRefusal(
      "invalid",
      `${file} was not replaced: somebody changed it since you read it. Read it again (memory_read), then replace it with what should stand there now.`,
    );
  }

  #appended(file: string, before: string, content: string, by: string | undefined): string {
    const own = file === INDEX ? ownPart(before) : before.trimEnd();
    const mark = this.#markBy(file, by);
    const said = mark ? withoutMark(own) : own;
    if (said === content || said.endsWith(`\n\n${content}`)) return `${own}\n`;
    const note = mark ? marked(content, mark) : content;
    const entry = DAILY_LOG.test(file) ? `## ${this.#stamp().slice(11, 16)}\n\n${content}` : note;
    return own === "" ? `${entry}\n` : `${own}\n\n${entry}\n`;
  }

  /** Empty where there is no such file. */
  async #textOf(file: string): Promise<string> {
    try {
      const { bytes } = await this.files.scope.readFile(file, { maxBytes: MAX_MEMORY_FILE_BYTES });
      return bytes.toString("utf8");
    } catch (error) {
      if (error instanceof FileNotFound) return "";
      throw error;
    }
  }

  async #textBefore(file: string): Promise<string> {
    const before = await this.#textOf(file);
    if (Buffer.byteLength(before) >= MAX_MEMORY_FILE_BYTES)
      throw new ScopeRefusal(
        "too_large",
        `${file} is full. Begin another file, or replace it with what still matters.`,
      );
    return before;
  }

  async #put(file: string, text: string): Promise<void> {
    if (Buffer.byteLength(text) > MAX_MEMORY_FILE_BYTES)
      throw new ScopeRefusal(
        "too_large",
        `${file} was not written: a memory file holds at most ${MAX_MEMORY_FILE_BYTES} bytes. Split it by topic.`,
      );
    await this.files.scope.writeFile(file, text);
    this.#seen.set(file, text);
  }

  #stamp(): string {
    return wallTime(this.#time.now(), this.timeZone);
  }
}

/** Days and times are in the person's time zone, which may change at any time. */
export interface PersonsTime {
  now(): number;
  readonly timeZone: string;
}

export interface WrittenNote {
  /** As seen from the agent's folder. */
  path: string;
  bytes: number;
  /** What its writer should know: it is written, but it will not be seen as they expect. */
  warning?: string;
  /** This write made it longer than what is shown; before, it was not. */
  outgrown?: true;
}

/** A person who saves in the same instant, again and again, is a program. */
const MOST_TRIES = 5;

/** The file that every run begins with, and how much of it fits there. */
export const ALWAYS_SHOWN = "MEMORY.md";
export const SHOWN_BYTES = 12_000;

function tooLongToShow(bytes: number): string {
  return `${ALWAYS_SHOWN} has ${bytes} bytes now, and only ${SHOWN_BYTES} of them are shown at the start of a run: the beginning and the newest lines. Move what is not needed every time to knowledge/ or experiences/, and replace it by something shorter.`;
}

/** Whether something that the file said is no longer in it. */
function isLost(before: string, after: string): boolean {
  const said = before.trimEnd();
  return said !== "" && after.trimEnd() !== said && !after.startsWith(`${said}\n`);
}

function mustNotBeLog(file: string): void {
  if (!DAILY_LOG.test(file)) return;
  throw new ScopeRefusal(
    "read_only",
    `${file} is a daily log and only grows. Append to it, or correct it in a new line.`,
  );
}

/** The name of a note as models write it: with or without the folder's name in front. */
export function noteNameOf(path: string): string {
  // Also as a search names a place: chips.md:12.
  const plain = path
    .trim()
    .replace(/^(?:\.\/)*(?:agent\/)?(?:memory\/)?/, "")
    .replace(/\.md:\d+$/, ".md");
  if (plain.split("/").some((name) => name.startsWith(".")))
    throw new ScopeRefusal(
      "invalid",
      `"${path}" has a name in it that begins with a dot. Use plain names, e.g. knowledge/ai-chips.md.`,
    );
  if (!plain.endsWith(".md"))
    throw new ScopeRefusal(
      "invalid",
      `"${path}" is not a memory file: those are markdown and end in .md, e.g. knowledge/ai-chips.md.`,
    );
  return plain;
}
