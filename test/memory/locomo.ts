import { readFileSync } from "node:fs";
import { z } from "zod";
import { dayNamedIn } from "../../src/memory/dates.ts";
import { rankedGrep, type Search, theLine } from "./line.ts";
import { FORMS, type Written } from "./long-dialogue.ts";
import { type Dialogue, type Figures, measure, ours, recallOf } from "./measure.ts";

/**
 * Recall@10 on real long dialogues: `npx node test/memory/locomo.ts FILE…`, where a file has the form of LoCoMo's
 * `locomo10.json`. The set itself is not in the repository, which its licence does not allow.
 */
const Turn = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().optional(),
});
const Sample = z.object({
  sample_id: z.string(),
  qa: z.array(z.object({ question: z.string(), evidence: z.array(z.string()), category: z.number() })),
  conversation: z.record(z.string(), z.unknown()),
});

/** Questions of kind 5 are asked of the wrong person; nothing answers them. */
const KINDS = ["", "several places", "when", "to be inferred", "one place"];

const WAYS: Readonly<Record<string, Written>> = {
  "four turns": FORMS["four turns a heading"],
  lines: FORMS["a line each"],
  "one file": FORMS["one file"],
  "no headings": (dialogue) => {
    const [[path, text] = ["", ""]] = Object.entries(FORMS["one file"](dialogue));
    return { [path]: text.replaceAll(/^## /gm, "") };
  },
  entries: FORMS["a log entry each"],
};

const METHODS = { grep: rankedGrep, baseline: theLine, ours };

const samples = process.argv.slice(2).flatMap((file) => z.array(Sample).parse(JSON.parse(readFileSync(file, "utf8"))));
const dialogues = samples.map((sample) => ({ name: sample.sample_id, dialogue: dialogueOf(sample) }));
const kinds: Record<string, Figures> = {};
const rows: Record<string, Record<string, number>> = {};
for (const [method, searchIn] of Object.entries(METHODS)) {
  kinds[method] = {};
  const all = { alone: `${method}, each dialogue a memory`, together: `${method}, all in one memory` };
  for (const [way, written] of Object.entries(WAYS)) {
    const [alone, together]: [Figures, Figures] = [{}, {}];
    const files: Record<string, string> = {};
    for (const { name, dialogue } of dialogues) {
      const own = written(dialogue);
      const figures: Figures = {};
      await measure(dialogue, await searchIn(own), figures, alone, kinds[method]);
      note(`${method}, ${name}`, way, figures);
      for (const [path, text] of Object.entries(own)) files[`${name}/${path}`] = text;
    }
    const search = await searchIn(files);
    for (const { name, dialogue } of dialogues) await measure(dialogue, within(name, search), together);
    note(all.alone, way, alone);
    note(all.together, way, together);
  }
}
for (const row of Object.values(rows)) {
  const figures = Object.values(row);
  row.mean = +(figures.reduce((sum, each) => sum + each, 0) / figures.length).toFixed(3);
}
console.log(
  `${dialogues.length} dialogues, ${dialogues.flatMap(({ dialogue }) => dialogue.questions).length} questions`,
);
console.table(rows);
console.table(Object.fromEntries(Object.entries(kinds).map(([method, figures]) => [method, recallOf(figures)])));

function note(row: string, way: string, figures: Figures): void {
  rows[row] = { ...rows[row], [way]: recallOf(figures).all ?? 0 };
}

/** What of the first ten sections is this dialogue's. */
function within(name: string, search: Search): Search {
  return async (question) =>
    (await search(question))
      .slice(0, 10)
      .filter(({ path }) => path.startsWith(`${name}/`))
      .map(({ path, text }) => ({ path: path.slice(name.length + 1), text }));
}

function dialogueOf({ conversation, qa }: z.infer<typeof Sample>): Dialogue {
  const ids = new Map<string, number>();
  const days = new Map<string, Dialogue["days"][number]>();
  for (let session = 1; conversation[`session_${session}`]; session++) {
    const at = dayNamedIn(String(conversation[`session_${session}_date_time`])) ?? Number.NaN;
    const date = new Date(at).toISOString().slice(0, 10);
    const day = days.get(date) ?? { date, turns: [] };
    days.set(date, day);
    for (const { speaker, dia_id, text, blip_caption } of z.array(Turn).parse(conversation[`session_${session}`])) {
      ids.set(dia_id, ids.size + 1);
      const words = blip_caption ? `${text} [${blip_caption}]` : text;
      day.turns.push({ id: ids.size, speaker, words: words.trim().replaceAll(/\s+/g, " ") });
    }
  }
  const questions = qa.flatMap(({ question, evidence, category }) => {
    // Some say two in one: "D8:6; D9:17".
    const turns = evidence.flatMap((each) => each.split(/[;,\s]+/)).flatMap((id) => ids.get(id) ?? []);
    const kind = KINDS[category];
    return kind && turns.length > 0 ? { kind, question, evidence: turns } : [];
  });
  return { days: [...days.values()], questions };
}
