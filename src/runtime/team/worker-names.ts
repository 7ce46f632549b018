import { createHash } from "node:crypto";
import type { WorkerId } from "../../protocol/index.ts";

/** Names for workers without a given name, in the order of hiring. */
export const WORKER_NAMES = `
  Alice Bob Carol David Erin Frank Grace Henry Iris Jack Kate Leo Mona Nina Oscar Paula Quinn Rosa Sam Tara
  Uma Victor Wendy Xenia Yusuf Zoe Amir Bea Chen Dora Emil Fay Gus Hana Ivan Judy Karl Lena Milo Nora
  Omar Petra Rafael Sofia Theo Ursula Vera Walter Yara Zane Ada Boris Clara Diego Elsa Felix Gina Hugo Ines Jonas
  Keiko Liam Maya Nils Olga Pablo Rita Simon Tessa Ugo Viola Wim Yuki Zara Aldo Berta Cyrus Delia Enzo Flora
  Gita Hector Ida Joel Kira Lars Mina Noah Orla Percy Ravi Stella Tomas Una Vito Willa Yann Zelda Anton Bruna
  Cora Dario Edith Finn Greta Heidi Igor Jana Kofi Lydia Magnus Naomi Otto Pia Rufus Sara Timo Vince Wanda Xavier
`
  .trim()
  .split(/\s+/);

const SURNAMES =
  "Archer Baker Carter Dyer Fisher Gardner Hunter Keller Mason Miller Porter Sawyer Taylor Turner Weaver Wright".split(
    " ",
  );

/** A free name for a worker without one. */
export function freeName(taken: ReadonlySet<WorkerId>): string {
  return WORKER_NAMES.find((candidate) => !taken.has(candidate.toLowerCase())) ?? fullName(taken);
}

/** When every first name is taken, a surname is added, and in the end a number. */
export function fullName(taken: ReadonlySet<WorkerId>): string {
  for (let number = 1; ; number++) {
    for (const surname of SURNAMES) {
      const last = number === 1 ? surname : `${surname} ${number}`;
      const id = workerIdOf(last);
      const first = WORKER_NAMES.find((name) => !taken.has(`${name.toLowerCase()}-${id}`));
      if (first !== undefined) return `${first} ${last}`;
    }
  }
}

/** Folders and files are named by it, so it is plain; a name in another script becomes a hash. */
export function workerIdOf(name: string): string {
  const folded = name.trim().toLowerCase().normalize("NFKD");
  const plain = folded.replace(/[^a-z0-9*]+/g, "-").replace(/^-+|-+$/g, "");
  return plain || `worker-${createHash("sha256").update(folded).digest("hex").slice(0, 8)}`;
}
