import "./orderly-fs.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

const [from = "1", count = "1"] = process.argv.slice(2);
const { simulate } = await import("./simulate.ts");
const base = mkdtempSync("/dev/shm/agiraph-simulation-");
let states = 0;
const began = performance.now();
try {
  for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
    try {
      const h = await simulate(seed, join(base, "home"));
      states += h.counts.steps;
      if (h.problems.length) console.log(seed, JSON.stringify(h.counts), h.problems.slice(0, 3).join("\n   "));
    } catch (e) { console.log(seed, "THREW", e instanceof Error ? e.stack : e); }
  }
} finally { rmSync(base, { recursive: true, force: true }); }
console.log(states, "states", Math.round(performance.now() - began), "ms");
