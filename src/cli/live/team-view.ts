import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type Fact } from "../../protocol/index.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import type { Terminal } from "../terminal.ts";
import { type Activity, applyToActivity } from "../wording/activity.ts";
import { asleepWords } from "../wording/asleep.ts";
import type { Spent } from "../wording/format.ts";
import { Story, type StoryLine } from "../wording/story.ts";
import { storyText } from "../wording/story-text.ts";
import { plain, wrapColoured } from "../wording/width.ts";
import { LiveRegion } from "./live-region.ts";
import { statusTree } from "./status-tree.ts";

/** A view of a team at work. */
export interface TeamView {
  fact(fact: Fact): void;
  delta(delta: Pick<Delta, "worker_id" | "kind" | "text">): void;
  /** Words of the program itself. */
  note(words: string): void;
  /** The person typed something. */
  echo(): void;
  close(): void;
}

/** For programs: every fact on stdout as it comes, and on stderr only notes for people. */
export function jsonView(terminal: Terminal): TeamView {
  return {
    fact: (fact) => void terminal.printJson(fact),
    delta: () => {},
    note: (words) => terminal.say(words),
    echo: () => {},
    close: () => {},
  };
}

/** For logs and pipes: the story on stderr, one plain line after the other. */
export function plainView(terminal: Terminal, now: () => Situation): TeamView {
  const story = new Story(() => now().roster);
  const tell = (lines: StoryLine[]) => {
    for (const line of lines) for (const text of storyText(line, undefined, terminal.errPaint)) terminal.say(text);
  };
  return {
    fact: (fact) => tell(story.tell(fact)),
    delta: (delta) => tell(story.hear(delta)),
    note: (words) => terminal.say(words),
    echo: () => {},
    close: () => tell(story.end(Object.keys(now().roster))),
  };
}

const SECOND = 1000;

/** For a person at a terminal: the story scrolls by, the team's status stands below it. */
export function liveView(
  terminal: Terminal,
  now: () => Situation,
  /** The person's own line, at the very bottom. */
  prompt: (columns: number) => string[] = () => [],
  /** What the agent had spent before it was looked at. */
  before?: Spent,
): TeamView {
  const { stderr, errPaint: paint } = terminal;
  const began = performance.now();
  const activity: Activity = new Map();
  const story = new Story(() => now().roster);
  const thinking = new Map<string, string>();
  const region = new LiveRegion(stderr, { after }, (columns, lines) => {
    const typed = prompt(columns);
    const tree = statusTree({
      now: now(),
      activity: withSleep(withWords(activity, thinking), now()),
      seconds: (performance.now() - began) / SECOND,
      before,
      columns,
      lines: Math.max(0, lines - typed.length),
      paint,
    });
    return [...tree, ...typed];
  });
  const tell = (lines: StoryLine[]) =>
    region.print(...lines.flatMap((line) => storyText(line, stderr.columns ?? 80, paint)));
  // The clock goes on while nothing happens.
  const ticking = setInterval(() => region.refresh(), SECOND);
  return {
    fact(fact) {
      applyToActivity(activity, fact);
      if (fact.type === "model.responded" || fact.type === "model.failed") thinking.delete(fact.data.worker_id);
      tell(story.tell(fact));
    },
    delta(delta) {
      const words = (thinking.get(delta.worker_id) ?? "") + delta.text;
      thinking.set(delta.worker_id, words.slice(-MOST_WORDS));
      tell(story.hear(delta));
    },
    note: (words) => region.print(...wrapColoured(words, stderr.columns ?? 80)),
    echo: () => region.echo(),
    close() {
      clearInterval(ticking);
      tell(story.end(Object.keys(now().roster)));
      region.close();
    },
  };
}

function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}

const MOST_WORDS = 200;

/** What somebody is just saying is more telling than that they think. */
function withWords(activity: Activity, thinking: ReadonlyMap<string, string>): Activity {
  const shown: Activity = new Map(activity);
  for (const [id, words] of thinking) {
    const latest = plain(words);
    if (latest !== "") shown.set(id, latest.length > LATEST ? `…${latest.slice(-LATEST)}` : latest);
  }
  return shown;
}

const LATEST = 60;

/** An agent that sleeps waits for nobody in the team. */
function withSleep(activity: Activity, now: Situation): Activity {
  const words = asleepWords(now, Date.now() / SECOND);
  return words === undefined ? activity : new Map([...activity, [COORDINATOR, words]]);
}
