import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { searchMemory } from "../src/memory/search.ts";
import { agentMemoryFiles } from "../src/store/run/memory-files.ts";

/**
 * A memory of so many sections in files of a hundred, and questions of six words: as common as words are in a language
 * (the nth word is n times rarer than the first), so that most questions have a word that is nearly everywhere.
 *
 * BENCH-MEMORY-1. A query is the whole search: the files' stamps, the index opened, the ranking, the text read from the
 *     files.
 */
export async function searchCost(home, sections, queries) {
  const memory = remembered(home, sections);
  const built = performance.now();
  await search(memory, "first");
  const build_s = (performance.now() - built) / 1000;
  const chance = chanceOf(2);
  const before = process.memoryUsage.rss();
  const times = [];
  const cpu = process.cpuUsage();
  for (let i = 0; i < queries; i++) {
    const question = Array.from({ length: 6 }, () => word(chance)).join(" ");
    const began = performance.now();
    const found = await search(memory, question);
    times.push(performance.now() - began);
    if (found.length === 0) throw new Error(`Nothing was found for "${question}".`);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  return {
    query_ms: times[times.length >> 1],
    query_p95_ms: times[Math.floor(times.length * 0.95)],
    query_cpu_ms: (user + system) / 1000 / queries,
    build_s,
    index_mb: statSync(memory.indexFile).size / 1e6,
    more_rss_mb: (process.memoryUsage.rss() - before) / 1e6,
  };
}

function search(memory, question) {
  return searchMemory(memory, question, { timeZone: "UTC", tokens: 4000 });
}

const IN_A_FILE = 100;
const WORDS_IN_A_SECTION = 130;

function remembered(home, sections) {
  const chance = chanceOf(1);
  mkdirSync(`${home}/memory/knowledge`, { recursive: true });
  for (let from = 0; from < sections; from += IN_A_FILE) {
    const text = Array.from({ length: IN_A_FILE }, (_, i) => {
      const words = Array.from({ length: WORDS_IN_A_SECTION }, () => word(chance));
      return `## Section ${from + i}\n\n${words.join(" ")}.\n`;
    });
    writeFileSync(`${home}/memory/knowledge/topic-${from / IN_A_FILE}.md`, `${text.join("\n")}\nfirst\n`);
  }
  return agentMemoryFiles(home);
}

const WORDS = 50_000;

function word(chance) {
  return `w${Math.floor(WORDS ** chance())}`;
}

function chanceOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 0x1_0000_0000;
  };
}
