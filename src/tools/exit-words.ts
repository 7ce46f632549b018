import type { Bound } from "../sandbox/index.ts";

/** How a command ended, in words for the one who started it. */
export function exitWords(code: number | null, exceeded: Bound | null): string {
  if (exceeded && code === null) return exceededNotes[exceeded];
  const ending = code === null ? "It was ended." : `Exit code ${code}${signalNote(code)}.`;
  return exceeded ? `${ending}\n${fullNote}` : ending;
}

export const exceededNotes = {
  memory: "It was ended, because its processes together took more memory than a command may.",
  disk: "It was ended, because it filled more of the disk than a command may. Remove what you do not need.",
  files: "It was ended, because its folders hold more files than a command may make. Remove what you do not need.",
};

export const fullNote =
  "The folders you may write to hold more than they may. Remove what you do not need: until then, commands cannot write files.";

const signals: Readonly<Record<number, string>> = {
  6: "it aborted",
  9: "it was killed, perhaps for lack of memory",
  11: "it crashed with a segmentation fault",
  24: "it used up its processor time",
  25: "a file grew beyond the size allowed",
};

export function signalNote(code: number): string {
  const signal = signals[code - 128];
  return signal ? ` (${signal})` : "";
}
