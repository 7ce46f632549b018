import type { Fact } from "../protocol/index.ts";
import { areasOf } from "./areas-of-facts.ts";
import type { Database } from "./database.ts";
import { noteGivenBack } from "./given-back.ts";
import { LaterFiles } from "./later-files.ts";
import { NO_CHANGES, recordTree } from "./record-tree.ts";
import { FencedError, type StreamPart, type TreeClaim } from "./streams.ts";
import type { IndexedFolder } from "./tree-index.ts";
import { type LookArea, TreeLook } from "./tree-look.ts";
import { TreeRuns } from "./tree-runs.ts";
import type { TreeRules } from "./tree-survey.ts";

export interface FollowedTreePorts {
  database: Database;
  claim: TreeClaim;
  /** The working copy. */
  folder: string;
  rules: TreeRules;
  /** What the engine has of the working copy's files. */
  index: IndexedFolder;
  /** Of a clock that only goes forward, in milliseconds. */
  elapsed(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Another host has the tree. */
  onFenced(error: FencedError): void;
}

/** How soon what no fact followed is looked for. */
const LOOK_MS = 2000;
/** Or after so many times as long as a look took. */
const PACE = 20;
/** With more names than this to look at, no fact waits for the look. */
const MOST_NAMES = 2000;
/** How long the last files may take when the tree is given back. */
const FINISH_MS = 5000;

/** What a fact names is waited for. */
const NEVER = new AbortController().signal;

const EVERYTHING: LookArea = { path: "", depth: "all" };

/**
 * The files of an agent follow its log into the engine.
 *
 * FOLLOW-FILES-1. What has changed where a fact's worker is at work is in the engine in the same step as the fact, small
 *     files with their content.
 * FOLLOW-FILES-2. Every file that a fact names is in the engine before it.
 * FOLLOW-FILES-3. What no fact followed, and what is large, follows within seconds; until then the engine says that it
 *     is behind, or that it has none of it.
 * FOLLOW-FILES-4. With a claim that is not the newest one nothing in the engine changes.
 */
export class FollowedTree {
  readonly #ports: FollowedTreePorts;
  readonly #runs: TreeRuns;
  readonly #later: LaterFiles;
  readonly #end = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> | undefined;
  /** The areas with too many files to look at with a fact. */
  readonly #large = new Set<string>();
  #hasNews = false;
  /** Whether everything was looked at since the last news, and when it may be at the soonest. */
  #isSettled = true;
  #settleFrom = 0;
  #isDropped = false;

  constructor(ports: FollowedTreePorts) {
    this.#ports = ports;
    this.#runs = new TreeRuns(ports.folder);
    this.#later = new LaterFiles({ ...ports, inTurn: (work) => this.#inTurn(work) });
  }

  /** Resolves when the parts of streams that have these facts are committed, with the files that go with them. */
  async commit(parts: readonly StreamPart[], facts: readonly Fact[]): Promise<void> {
    const { looked, named } = areasOf(facts, this.#runs);
    if (named.length > 0) await this.#bring(named);
    const areas = looked.filter((area) => !this.#large.has(keyOf(area)));
    if (areas.length > 0) await this.#look(areas, parts);
    else await recordTree(this.#ports.database, this.#ports.claim, parts, NO_CHANGES);
    for (const fact of facts) this.#runs.hear(fact);
    this.#hasNews = true;
    this.lookSoon();
  }

  /** Everything is looked at soon, also if nothing happens. */
  lookSoon(): void {
    this.#isSettled = false;
    if (!this.#end.signal.aborted) this.#looking ??= this.#goOnLooking();
  }

  /** Before the tree is given back: everything, as far as there is time for it. */
  async finish(): Promise<void> {
    this.#end.abort();
    if (this.#isDropped) return;
    const { sleep } = this.#ports;
    const late = new AbortController();
    const all = async () => {
      await this.#looking;
      await this.#look([EVERYTHING], []);
      await this.#later.put(this.#later.all(), late.signal);
    };
    const timeout = sleep(FINISH_MS, late.signal).catch(() => {});
    await Promise.race([all().catch(() => {}), timeout]);
    late.abort();
    const { folder, claim, index } = this.#ports;
    noteGivenBack(folder, claim.epoch, index);
  }

  /** Nothing more is looked for: the claim is lost. */
  drop(): void {
    this.#isDropped = true;
    this.#end.abort();
  }

  /** FOLLOW-FILES-2. */
  async #bring(areas: readonly LookArea[]): Promise<void> {
    const late = await this.#look(areas, []);
    await this.#later.put(late, NEVER);
  }

  /** Returns what is to follow on its own. */
  #look(areas: readonly LookArea[], parts: readonly StreamPart[]): Promise<string[]> {
    return this.#inTurn(async () => {
      const { database, claim } = this.#ports;
      const look = new TreeLook(this.#ports);
      for (const area of areas) {
        if ((await look.at(area)) > MOST_NAMES) this.#large.add(keyOf(area));
        else this.#large.delete(keyOf(area));
      }
      if (parts.length > 0 || !look.isEmpty) await recordTree(database, claim, parts, look.changes);
      look.committed();
      this.#later.add(look.later);
      return look.later;
    });
  }

  /** FOLLOW-FILES-3. Where somebody is at work; in everything once it is quiet; and then, if nobody is, no more. */
  async #goOnLooking(): Promise<void> {
    const { sleep, onFenced, elapsed } = this.#ports;
    const { signal } = this.#end;
    for (let pause = LOOK_MS; ; ) {
      await sleep(pause, signal).catch(() => {});
      if (signal.aborted) break;
      const began = elapsed();
      try {
        if (await this.#lookAgain()) break;
      } catch (error) {
        if (error instanceof FencedError) {
          onFenced(error);
          break;
        }
        // The engine is away: the next look tries again.
      }
      pause = Math.max(LOOK_MS, PACE * (elapsed() - began));
    }
    this.#looking = undefined;
  }

  /** Says whether nothing more is to be looked for until there is news. */
  async #lookAgain(): Promise<boolean> {
    const { elapsed } = this.#ports;
    const isQuiet = !this.#hasNews;
    this.#hasNews = false;
    const atWork = this.#runs.areasAtWork();
    const began = elapsed();
    if (isQuiet && !this.#isSettled && began >= this.#settleFrom) {
      this.#isSettled = true;
      await this.#look([EVERYTHING], []).catch((error: unknown) => {
        this.#isSettled = false;
        throw error;
      });
      this.#settleFrom = elapsed() + PACE * (elapsed() - began);
    } else await this.#look(atWork, []);
    await this.#later.put(this.#later.due(), this.#end.signal);
    return isQuiet && this.#isSettled && atWork.length === 0 && this.#later.isEmpty && !this.#hasNews;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

function keyOf({ path, depth }: LookArea): string {
  return `${depth} ${path}`;
}
