import { isTelling, type Terms, wordsOf } from "./words.ts";

export interface Heading {
  level: number;
  text: string;
}

/** A text of Markdown or the like, taken apart. */
export interface Prose {
  headings: Heading[];
  /** What is left to read: no code, no tables, no markup. */
  paragraphs: string[];
  /** What stands in tables: words to count, not to quote. */
  cells: string[];
  links: string[];
  /** Languages of the fenced blocks, in order of appearance, repeated. */
  languages: string[];
}

export function readProse(text: string): Prose {
  const prose: Prose = { headings: [], paragraphs: [], cells: [], links: [], languages: [] };
  let fence: string | undefined;
  let open: string[] = [];
  const close = () => {
    if (open.length > 0) prose.paragraphs.push(withoutMarkup(open.join(" ")));
    open = [];
  };
  for (const line of withoutFrontMatter(text).split(/\r?\n/)) {
    const mark = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/.exec(line);
    if (fence !== undefined) {
      if (mark?.[1]?.startsWith(fence) && !mark[2]) fence = undefined;
      continue;
    }
    if (mark) {
      close();
      fence = mark[1];
      prose.languages.push((mark[2] ?? "").toLowerCase() || "unnamed");
      continue;
    }
    prose.links.push(...linksIn(line));
    if (/^\s*\|/.test(line)) prose.cells.push(...line.split("|").map(withoutMarkup));
    const heading = headingOf(line, open);
    if (heading) {
      // An underlined heading was taken for a paragraph until its line came.
      if (/^\s*[=-]+\s*$/.test(line)) open = [];
      close();
      prose.headings.push(heading);
    } else if (/^\s*$/.test(line) || /^\s*(?:\||\[[^\]]+\]:|[-*_=]{3,}\s*$|<!--|<\/?\w+[^>]*>\s*$)/.test(line)) close();
    else {
      if (/^\s*(?:[-*+•]|\d+[.)])\s/.test(line)) close();
      open.push(line.replace(/^\s*(?:>\s*)*(?:[-*+•]\s+|\d+[.)]\s+)?/, "").trim());
    }
  }
  close();
  return prose;
}

const SHORTEST = 40;
const LONGEST = 280;

/** The sentences that say most of what the whole text talks about, in the order they stand in. */
export function tellingSentences(paragraphs: readonly string[], terms: Terms, most: number): string[] {
  const weights = new Map(terms);
  const sentences = [...new Set(paragraphs.flatMap(sentencesOf))].filter(isQuotable);
  const scored = sentences.map((sentence, at) => {
    const words = new Set(wordsOf(sentence.toLowerCase()));
    let score = 0;
    for (const word of words)
      if (isTelling(word)) score += weights.get(word) ?? weights.get(word.replace(/s$/, "")) ?? 0;
    // Long sentences hold more words and early ones more of the matter.
    return { sentence, at, score: (score / Math.sqrt(words.size + 4)) * (at < 3 ? 1.3 : 1) };
  });
  const best = scored.sort((a, b) => b.score - a.score || a.at - b.at).slice(0, most);
  return best.sort((a, b) => a.at - b.at).map(({ sentence }) => sentence);
}

/** Each pattern reaches only so far: an unclosed bracket must not make it search the whole text again and again. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/!\[([^\]]{0,200})\]\([^)]{0,400}\)/g, "$1")
    .replace(/\[([^\][]{1,200})\](?:\([^)]{0,400}\)|\[[^\]]{0,200}\])/g, "$1")
    .replace(/<(https?:[^>\s]{1,400})>/g, "$1")
    .replace(/<\/?[a-zA-Z][^><]{0,400}>/g, " ")
    .replace(/(\*\*|__)(?=\S)(.{1,200}?)(?<=\S)\1/g, "$2")
    .replace(/(?<![\w*])\*(?=\S)([^*]{1,200}?)(?<=\S)\*(?![\w*])/g, "$1")
    .replace(/`+([^`]{0,200})`+/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}

function sentencesOf(paragraph: string): string[] {
  return paragraph
    .split(/(?<=[.!?…]["”’)]?)\s+(?=["“‘(]?[\p{Lu}\p{N}\p{Lo}])|(?<=[。！？])/u)
    .map((sentence) => sentence.trim());
}

function isQuotable(sentence: string): boolean {
  const isWhole = /[.!?…:。！？)"”]$/.test(sentence) && !sentence.includes("://");
  return isWhole && sentence.length >= SHORTEST && sentence.length <= LONGEST;
}

function headingOf(line: string, open: readonly string[]): Heading | undefined {
  const marked = /^\s{0,3}(#{1,6}|={1,6})\s+(.+?)(?:\s+#+)?\s*$/.exec(line);
  if (marked) return { level: marked[1]?.length ?? 1, text: withoutMarkup(marked[2] ?? "") };
  const html = /<h([1-6])[^>]*>(.*?)<\/h\1>/i.exec(line);
  if (html) return { level: Number(html[1]), text: withoutMarkup(html[2] ?? "") };
  const underlined = open.length === 1 && /^\s*(=+|-{2,})\s*$/.exec(line);
  return underlined ? { level: underlined[1]?.startsWith("=") ? 1 : 2, text: withoutMarkup(open[0] ?? "") } : undefined;
}

function linksIn(line: string): string[] {
  const text = line.replace(/`[^`]*`/g, "");
  const inline = [...text.matchAll(/\]\(\s*(?:<([^>]+)>|((?:[^()\s]|\([^()\s]*\))+))(?:\s+["'(][^)]*)?\s*\)/g)];
  const named = [...text.matchAll(/^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/g)];
  const html = [...text.matchAll(/\b(?:href|src)\s*=\s*["']([^"']+)["']/gi)];
  const bare = [...text.matchAll(/(?<![("'=\]:]\s?)(?<![<\w/])<?(https?:\/\/[^\s<>)\]"'`]+[^\s<>)\]"'`.,;:!?])/g)];
  return [
    ...inline.map((m) => m[1] ?? m[2]),
    ...named.map((m) => m[1]),
    ...html.map((m) => m[1]),
    ...bare.map((m) => m[1]),
  ].flatMap((link) => link ?? []);
}

function withoutFrontMatter(text: string): string {
  return text.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
}
