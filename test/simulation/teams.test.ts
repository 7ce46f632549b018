import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { BrokenSeed, Tally } from "./main.ts";

/**
 * Random teams in a world that a seed decides: who thinks what, which file is written and which commit is on disk when,
 * when the clock moves, when people stop, pause and resume, when the process dies and what it had done until then. The
 * program is the real one: runtime, workers, tools, mail, store; only models, clock and disk are played. Whatever
 * happens, this holds:
 *
 * TEAM-0. Nothing throws that nobody catches, and a closed home leaves no file open.
 * TEAM-1. Facts are numbered 1, 2, 3 …; what was told to be on disk is there after every crash, unchanged; snapshot and
 *     facts fold to the same situation as the facts alone.
 * TEAM-2. No node is lost: ids have no gaps, each goes pending → assigned → running → publishing → completed, or fails,
 *     ends once (again only where more money reopened it), is retried at most once, and has ended when its run has. A
 *     run ends once and is not stopped after it.
 * TEAM-3. A node has one worker and a worker one node; it is begun only when all it builds on is completed, by the one
 *     it is reserved for, by nobody who was let go, and ended by the one who has it.
 * TEAM-4. Nobody begins while as many work as may; who waits for sub-nodes, people or news does not count, who was let
 *     go and still works does. And with room for one more, nothing that is ready waits.
 * TEAM-5. What is published is exactly the manifest, unchanged and read-only; completed means published, with all that
 *     the spec declares and the same summary. Whatever failed has published what its last intent says, or nothing.
 * TEAM-6. A message is told once, in these words, to its reader (or to everyone who works, or to the coordinator in
 *     place of one who has gone), and before the second turn that begins after it was sent; when the run has ended it
 *     has been seen or has expired, the latter only where its reader was there to the last. The end of a node is told
 *     once, to whoever answers for it, with what had ended below it unheard.
 * TEAM-7. Every call has one result, right after its reply and in order, also over crashes; only who was interrupted
 *     for good (out of time or money, the run over) may leave the last ones open.
 * TEAM-8. What a call brings about is there once, however often the call was taken up again; what was answered
 *     "created" is there.
 * TEAM-9. When nothing can happen any more, the run has ended, somebody has stopped it, or it failed and says so, or
 *     all work has ended and the coordinator waits because it wished to; everything that was asked for was answered.
 * TEAM-10. Spending adds up, in total, by worker and by node; at no time more than the budget and one call, nor more
 *     than a share and one call; nobody takes more turns than allowed.
 * TEAM-11. The same seed gives the same home, byte for byte.
 * TEAM-12. What the human says and is told was taken is there once: a message (TEAM-6), an answer, a hint, or the next
 *     goal; what was said as a run ended is the next goal, also after a crash. A call asks once, and its first answer
 *     is its result, or is told once as news where a message came first.
 * TEAM-13. Each occurrence of a trigger fires once and is done once, with one message or one run, or says why not; none
 *     is missed while nobody rests. What is held begins only when it is released.
 */
const SEEDS = Number(process.env.AGIRAPH_SEEDS ?? 150);
const FIRST = Number(process.env.AGIRAPH_SEED ?? 1);
const COUNT = process.env.AGIRAPH_SEED ? Number(process.env.AGIRAPH_SEEDS ?? 1) : SEEDS;

test(`${COUNT} random teams from seed ${FIRST} on lose nothing, double nothing and never hang unseen`, {
  timeout: 3_600_000,
}, async () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [main, String(FIRST), String(COUNT), "20"], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines: (BrokenSeed | Tally)[] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const broken = lines.filter((line) => "seed" in line);
  for (const { seed, problems } of broken) {
    console.log(`seed ${seed}: ${problems.slice(0, 5).join("\n  ")}`);
    console.log(`  again: AGIRAPH_SEED=${seed} npx vitest run test/simulation/teams.test.ts`);
    console.log(`  told:  node test/simulation/main.ts ${seed} --story`);
  }
  const tally = lines.find((line) => "seeds" in line);
  console.log(JSON.stringify(tally));
  expect(broken).toEqual([]);
  expect(tally).toMatchObject({ seeds: COUNT });
});
