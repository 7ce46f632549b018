/**
 * Splits a memory file into sections, each of which makes sense on its own in an answer.
 *
 * SECTION-1. Sections follow each other without gap or overlap, apart from headings without text of their own.
 * SECTION-2. A section begins at a heading; if it is longer than about 1 KB, it is cut at a paragraph, else a line,
 *     else a sentence.
 * SECTION-3. Entries of a log whose headings are only times are joined up to about 1 KB: a time means little by itself,
 *     and a line of dialogue needs its neighbours.
 * SECTION-4. Every section knows the headings above it, even if it does not begin with one.
 */
export interface Section {
  /** The headings above its first word, from the outermost; the section's own is the last. */
  headings: readonly string[];
  start: number;
  end: number;
}

const TARGET = 1000;
const MOST = 1200;

export function sectionsOf(markdown: string): Section[] {
  return joined(blocksOf(markdown)).flatMap(({ headings, start, end }) =>
    cutsOf(markdown, start, end).map(([from, to]) => ({ headings, start: from, end: to })),
  );
}

/** The text from one heading to the next. */
function blocksOf(markdown: string): Section[] {
  const blocks: Section[] = [];
  let above: { level: number; title: string }[] = [];
  let start = 0;
  let fence = false;
  const close = (end: number) => {
    const text = markdown.slice(start, end);
    const isBare = above.length > 0 && /^#{1,6}(?:\s[^\n]*)?$/.test(text.trim());
    if (text.trim() !== "" && !(isBare && end < markdown.length))
      blocks.push({ headings: above.map(({ title }) => title), start, end });
  };
  for (const line of markdown.matchAll(/^.*$/gm)) {
    if (/^\s*(```|~~~)/.test(line[0])) fence = !fence;
    const heading = fence ? null : /^(#{1,6})\s+(.*)$/.exec(line[0]);
    if (!heading) continue;
    close(line.index);
    start = line.index;
    const level = heading[1]?.length ?? 1;
    above = [...above.filter((each) => each.level < level), { level, title: withoutHashes(heading[2] ?? "") }];
  }
  close(markdown.length);
  return blocks;
}

/** Without the blanks and hashes at its end. By hand: a pattern would search a long row of them once for each. */
function withoutHashes(title: string): string {
  let end = title.length;
  while (/[\s#]/.test(title[end - 1] ?? "")) end--;
  return title.slice(0, end);
}

const ONLY_A_TIME = /^[[(]?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?\s*(?:[ap]\.?m\.?)?(?:\s*(?:UTC|Z))?[\])]?$/i;

function joined(blocks: readonly Section[]): Section[] {
  const sections: Section[] = [];
  for (const block of blocks) {
    const before = sections.at(-1);
    if (before && isEntry(before) && isEntry(block) && isBeside(before, block) && block.end - before.start <= TARGET)
      before.end = block.end;
    else sections.push({ ...block });
  }
  return sections;
}

function isEntry({ headings }: Section): boolean {
  return ONLY_A_TIME.test(headings.at(-1) ?? "");
}

function isBeside(before: Section, block: Section): boolean {
  return (
    before.end === block.start && before.headings.slice(0, -1).join("\n") === block.headings.slice(0, -1).join("\n")
  );
}

const SEAMS = [/\n\s*\n/g, /\n/g, /[.!?…。！？]["')\]]*\s/g, /\s/g];

function cutsOf(text: string, start: number, end: number): [number, number][] {
  const cuts: [number, number][] = [];
  let from = start;
  while (end - from > MOST) {
    const to = from + lastSeam(text.slice(from, from + TARGET));
    cuts.push([from, to]);
    from = to;
  }
  cuts.push([from, end]);
  return cuts;
}

/** Where to cut so that at least half is used, at the best kind of seam there is. */
function lastSeam(window: string): number {
  for (const seam of SEAMS) {
    const last = [...window.matchAll(seam)].at(-1);
    const at = last ? last.index + last[0].length : 0;
    if (at > TARGET / 2) return at;
  }
  // Never between the halves of a character.
  const code = window.charCodeAt(window.length - 1);
  return code >= 0xd800 && code <= 0xdbff ? window.length - 1 : window.length;
}
