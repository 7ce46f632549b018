import type { Fact } from "../../protocol/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { type FactChoice, factFilter } from "../wording/fact-filter.ts";
import { factLine } from "../wording/fact-line.ts";
import { timestamp } from "../wording/format.ts";
import { jsonLine } from "../wording/json-line.ts";
import { cutToWidth, pad } from "../wording/width.ts";

export async function logs(
  call: Invocation,
  word: string,
  options: { follow?: boolean; after?: number; limit?: number } & FactChoice,
): Promise<ExitCode> {
  const { terminal } = call;
  const { log, now } = await lookAtAgent(call, word);
  const { after = 0, limit } = options;
  const isWanted = factFilter(options, now);
  if (options.follow && limit === undefined) return follow(call, log.follow.bind(log), after, isWanted);
  const print = (facts: readonly Fact[]) => terminal.print(facts.map((fact) => textOf(fact, call)).join(""));
  let newest: Fact[] = [];
  let last = after;
  while (!terminal.readerLeft.aborted) {
    const page = await log.read({ after: last, limit: PAGE });
    const wanted = page.filter(isWanted);
    if (limit === undefined) await print(wanted);
    else newest = limit === 0 ? [] : [...newest, ...wanted].slice(-limit);
    last = page.at(-1)?.seq ?? last;
    if (page.length < PAGE) break;
  }
  await print(newest);
  return options.follow ? follow(call, log.follow.bind(log), last, isWanted) : EXIT.done;
}

const PAGE = 1000;

type Follow = (after: number, signal: AbortSignal) => AsyncIterable<Fact>;

/** Follows the log until Ctrl-C, or until the reader of stdout has gone. */
async function follow(
  call: Invocation,
  facts: Follow,
  after: number,
  isWanted: (fact: Fact) => boolean,
): Promise<ExitCode> {
  const ending = new AbortController();
  const onInterrupt = () => ending.abort();
  process.once("SIGINT", onInterrupt).once("SIGTERM", onInterrupt);
  // Waiting for another process' file keeps nobody alive by itself.
  const alive = setInterval(() => {}, 60_000);
  try {
    const { readerLeft } = call.terminal;
    for await (const fact of facts(after, AbortSignal.any([ending.signal, readerLeft]))) {
      if (isWanted(fact)) await call.terminal.print(textOf(fact, call));
    }
    return ending.signal.aborted ? EXIT.interrupted : EXIT.done;
  } finally {
    clearInterval(alive);
    process.off("SIGINT", onInterrupt).off("SIGTERM", onInterrupt);
  }
}

function textOf(fact: Fact, { json, terminal }: Invocation): string {
  if (json) return jsonLine(fact);
  const { paint } = terminal;
  const head = `${String(fact.seq).padStart(5)}  ${timestamp(fact.ts)}  `;
  const type = pad(fact.type, TYPE_COLUMNS);
  const words = cutToWidth(factLine(fact), Math.max(20, terminal.lineColumns - head.length - type.length - 2));
  return `${paint.dim(head)}${paint.cyan(type)}  ${words}\n`;
}

const TYPE_COLUMNS = 19;
