import "./orderly-fs.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

const [from = "1", count = "1"] = process.argv.slice(2);
const { simulate } = await import("./simulate.ts");
const { problemsOf } = await import("./invariants.ts");
const base = mkdtempSync("/dev/shm/agiraph-simulation-");
let states = 0;
const kinds = new Map<string, number[]>();
const began = performance.now();
try {
  for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
    try {
      let ps: string[] = [];
      const h = await simulate(seed, join(base, "home"), (h) => {
        ps = problemsOf(h);
      });
      states += h.counts.steps;
      if (process.env.STORY) for (const f of h.facts) console.log(f.seq, f.type, JSON.stringify(f.data).slice(0, 230));
      if (process.env.TALK)
        for (const e of h.conversations.filter((c) => c.worker === process.env.TALK).flatMap((c) => c.entries))
          if (e.role !== "system") console.log("  ", JSON.stringify(e).slice(0, 400));
      if (ps.length) console.log(seed, JSON.stringify(h.counts), ps.slice(0, 4).join("\n   "));
      for (const p of ps) {
        const k = p
          .replaceAll(/\d+/g, "#")
          .replaceAll(/(alice|bob|carol|zed|yan|david|erin|frank)/g, "W")
          .slice(0, 90);
        kinds.set(k, [...(kinds.get(k) ?? []), seed]);
      }
    } catch (e) {
      console.log(seed, "THREW", e instanceof Error ? e.stack : e);
    }
  }
} finally {
  rmSync(base, { recursive: true, force: true });
}
for (const [k, s] of kinds) console.log(s.length, k, s.slice(0, 5).join());
console.log(states, "states", Math.round(performance.now() - began), "ms");
