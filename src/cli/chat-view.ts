import type { Situation } from "../projections/index.ts";
import { COORDINATOR } from "../protocol/index.ts";
import type { Activity } from "./activity.ts";
import { asleepWords } from "./asleep.ts";
import { LiveRegion } from "./live-region.ts";
import { standingWords } from "./look.ts";
import type { StoryLine } from "./story.ts";
import { storyText } from "./story-text.ts";
import type { Terminal } from "./terminal.ts";
import { cut, plain } from "./width.ts";

export interface ChatView {
  tell(lines: StoryLine[]): void;
  note(...lines: string[]): void;
  refresh(): void;
  echo(): void;
  close(): void;
}

/** A conversation above, one line on how the agent is doing, and the person's own line below. */
export function liveChat(
  { stderr, errPaint: paint }: Terminal,
  now: () => Situation,
  activity: Activity,
  prompt: (columns: number) => string[],
): ChatView {
  const region = new LiveRegion(stderr, { after }, (columns) => [
    paint.dim(cut(headOf(now(), activity), columns)),
    ...prompt(columns),
  ]);
  return {
    tell: (lines) => region.print(...lines.flatMap((line) => storyText(line, stderr.columns ?? 80, paint))),
    note: (...lines) => region.print(...lines),
    refresh: () => region.refresh(),
    echo: () => region.echo(),
    close: () => region.close(),
  };
}

/** For pipes and files: the conversation on stdout, words of the program on stderr. */
export function plainChat(terminal: Terminal): ChatView {
  const tell = (lines: StoryLine[]) =>
    terminal.printLines(lines.flatMap((line) => storyText(line, undefined, terminal.paint)));
  return {
    tell: (lines) => void tell(lines),
    note: (...lines) => terminal.say(lines.join("\n")),
    refresh: () => {},
    echo: () => {},
    close: () => {},
  };
}

function headOf(now: Situation, activity: Activity): string {
  const { created, status } = now.agent;
  const asleep = () => asleepWords(now, Date.now() / 1000);
  const doing = status === "working" ? (asleep() ?? activity.get(COORDINATOR)) : undefined;
  return plain([created.name, standingWords(status, now), ...(doing ? [`coordinator: ${doing}`] : [])].join(" · "));
}

function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
