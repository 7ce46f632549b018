import type { Situation, Standing } from "../../projections/index.ts";
import { COORDINATOR } from "../../protocol/index.ts";
import type { Terminal } from "../terminal.ts";
import type { Activity } from "../wording/activity.ts";
import { standingWords } from "../wording/standing.ts";
import type { StoryLine } from "../wording/story.ts";
import { storyText } from "../wording/story-text.ts";
import { cutToWidth, plain } from "../wording/width.ts";
import { LiveRegion } from "./live-region.ts";

export interface ChatView {
  tell(lines: StoryLine[]): void;
  note(...lines: string[]): void;
  refresh(): void;
  echo(): void;
  close(): void;
}

/** The conversation above, one line with the state of the agent, and the person's input line below. */
export function liveChat(
  { stderr, errPaint: paint }: Terminal,
  now: () => Situation,
  standing: () => Standing,
  activity: Activity,
  prompt: (columns: number) => string[],
): ChatView {
  // Asked when something happens and once a second: a process that was killed says nothing more.
  let stands = standing();
  let isStale = false;
  const region = new LiveRegion(stderr, { after }, (columns) => {
    if (isStale) stands = standing();
    isStale = false;
    return [paint.dim(cutToWidth(headOf(now(), stands, activity), columns)), ...prompt(columns)];
  });
  const refresh = () => {
    isStale = true;
    region.refresh();
  };
  const ticking = setInterval(refresh, 1000);
  return {
    tell: (lines) => region.print(...lines.flatMap((line) => storyText(line, stderr.columns ?? 80, paint))),
    note: (...lines) => region.print(...lines),
    refresh,
    echo: () => region.echo(),
    close() {
      clearInterval(ticking);
      region.close();
    },
  };
}

/** For pipes and files: the conversation on stdout, the program's own messages on stderr. */
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

function headOf(now: Situation, standing: Standing, activity: Activity): string {
  const words = standingWords(standing, now, Date.now() / 1000);
  const doing = words === "working" ? activity.get(COORDINATOR) : undefined;
  const next = doing ? `coordinator: ${doing}` : IF_SPOKEN_TO[standing];
  return plain([now.agent.created.name, words, ...(next ? [next] : [])].join(" · "));
}

/** What comes of a line that is typed while nobody works. */
const IF_SPOKEN_TO: Partial<Record<Standing, string>> = {
  completed: "what you say is its next goal",
  stopped: "continues when you write to it",
  failed: "continues when you write to it",
  interrupted: "continues when you write to it",
};

function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
