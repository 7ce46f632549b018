import type { MemoryFiles, StampedFile } from "../store/memory-files.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope-refusal.ts";
import { ownPart, withListing } from "./listing.ts";

export const MAX_MEMORY_FILE_BYTES = 1024 * 1024;
const DAILY_LOG = /^\d{4}-\d{2}-\d{2}\.md$/;
const INDEX = "index.md";

/**
 * What an agent, or a worker, keeps for later.
 *
 * K1. Adding the same words twice in a row adds them once: a call that a crash interrupted may be repeated.
 * K2. A daily log only grows.
 * K3. `index.md` lists what is stored, beneath whatever its owner wrote there; it follows every write.
 */
export class Memory {
  readonly files: MemoryFiles;
  readonly #now: () => number;

  constructor(files: MemoryFiles, now: () => number) {
    this.files = files;
    this.#now = now;
  }

  /** Today's daily log. */
  get today(): string {
    return `${this.#stamp().slice(0, 10)}.md`;
  }

  /** Resolves with the file as seen from the agent's home. Rejects with ScopeRefusal, in words for whoever wrote. */
  async write(path: string, content: string, mode: "append" | "replace"): Promise<{ path: string; bytes: number }> {
    const file = nameOf(path);
    if (content.trim() === "") throw new ScopeRefusal("invalid", "There is nothing to remember in empty content.");
    if (mode === "replace" && DAILY_LOG.test(file))
      throw new ScopeRefusal(
        "read_only",
        `${file} is a daily log and only grows. Append to it, or correct it in a new line.`,
      );
    const before = await this.#textBefore(file);
    const text = mode === "replace" ? `${content.trim()}\n` : this.#appended(file, before, content.trim());
    await this.#put(file, file === INDEX ? await withListing(this.files, text) : text);
    if (file !== INDEX) await this.refreshIndex();
    return { path: this.files.inHome(file), bytes: Buffer.byteLength(text) };
  }

  async read(path: string): Promise<string> {
    const { bytes, truncated } = await this.files.scope.readFile(nameOf(path), { maxBytes: MAX_MEMORY_FILE_BYTES });
    return `${bytes.toString("utf8")}${truncated ? `\n(${path} goes on; this is its beginning.)` : ""}`;
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

  list(): Promise<StampedFile[]> {
    return this.files.list();
  }

  /** Daily logs, newest first. */
  async dailyLogs(): Promise<string[]> {
    return (await this.list()).flatMap(({ path }) => (DAILY_LOG.test(path) ? path : [])).reverse();
  }

  /** People add and remove files by hand: the listing is made from what is there. Only an agent's memory has one. */
  async refreshIndex(): Promise<void> {
    if (this.files.indexFile === null) return;
    const before = await this.readIfThere(INDEX);
    if (before === "" && (await this.list()).every(({ bytes }) => bytes === 0)) return;
    const after = await withListing(this.files, before);
    if (after !== before) await this.#put(INDEX, after);
  }

  #appended(file: string, before: string, content: string): string {
    const own = file === INDEX ? ownPart(before) : before.trimEnd();
    if (own.endsWith(content)) return `${own}\n`;
    const entry = DAILY_LOG.test(file) ? `## ${this.#stamp().slice(11, 16)}\n\n${content}` : content;
    return own === "" ? `${entry}\n` : `${own}\n\n${entry}\n`;
  }

  async #textBefore(file: string): Promise<string> {
    const before = await this.readIfThere(file);
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
  }

  #stamp(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** As models write it: with or without the folder's own name before it. */
function nameOf(path: string): string {
  const plain = path.trim().replace(/^(?:\.\/)*(?:agent\/)?(?:memory\/)?/, "");
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
