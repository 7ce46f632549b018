import { readdirSync, readFileSync } from "node:fs";

/** What the kernel says of processes, Linux only. */
export const TICKS_A_SECOND = 100;

/** All processes below this one but the program: the second inside. */
export function holdersOf(pid) {
  const inner = /^NSpid:\t(.*)$/m.exec(read(`/proc/${pid}/status`))?.[1]?.split("\t") ?? [];
  if (inner.length > 1 && inner.at(-1) !== "1") return [];
  return [pid, ...childrenOf(pid).flatMap(holdersOf)];
}

export function treeOf(pid) {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

export function ticksOf(pid) {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, "")
    .split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

export const kilobytes = (file, line) => Number(line.exec(read(file))?.[1] ?? 0);
export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
}

const read = (file) => readFileSync(file, "utf8");
