import { createInterface, emitKeypressEvents } from "node:readline";
import { isForeground } from "../live/interactive.ts";
import { MARK_PASTE, PLAIN_PASTE } from "../live/live-region.ts";
import type { InputStream, Terminal } from "../terminal.ts";
import type { Key } from "./line-editor.ts";

export interface KeyHandler {
  /** One key. */
  press(letters: string | undefined, key: Key): void;
  /** Ctrl-C: true where it took back what was typed, and so stops nothing. */
  clear?(): boolean;
  /** A whole line, from a terminal that gives no keys. */
  line(text: string): void;
  /** Nobody will type any more. */
  end?(): void;
}

/**
 * Listens to a person's keys. Returns a function that stops it and restores the terminal.
 *
 * KEYBOARD-1. Ctrl-C, Ctrl-\ and Ctrl-Z have their usual meaning; as in a shell, Ctrl-C first clears a line that was
 *     begun.
 * KEYBOARD-2. A process in the background never reads the keyboard: the system would stop it.
 */
export function listenToKeys({ stdin, stderr }: Pick<Terminal, "stdin" | "stderr">, handler: KeyHandler): () => void {
  let isOpen = false;
  const onKey = (letters: string | undefined, key: Key) => {
    const signal = key.ctrl ? SIGNALS[key.name ?? ""] : undefined;
    if (signal === "SIGINT" && handler.clear?.()) return;
    if (signal === undefined) handler.press(letters, key);
    else if (signal !== "SIGTSTP") process.kill(process.pid, signal);
    else suspend();
  };
  const open = () => {
    if (isOpen || !isForeground()) return;
    isOpen = true;
    stdin.setRawMode?.(true);
    stderr.write(MARK_PASTE);
    emitKeypressEvents(stdin);
    stdin.on("keypress", onKey).resume();
  };
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    stdin.off("keypress", onKey).pause();
    stderr.write(PLAIN_PASTE);
    try {
      stdin.setRawMode?.(false);
    } catch {
      // The terminal itself has gone, with its mode.
    }
  };
  // With everybody of the same job (npm, a pipe), as the terminal itself would do it.
  const suspend = () => {
    close();
    process.kill(0, "SIGTSTP");
  };
  process.on("SIGCONT", open);
  open();
  return () => {
    process.off("SIGCONT", open);
    close();
  };
}

/** Reads line by line: a file, a pipe, or a terminal that cannot do more. */
export function listenToLines(stdin: InputStream, handler: Pick<KeyHandler, "line" | "end">): () => void {
  const lines = createInterface({ input: stdin, terminal: false });
  lines.on("line", (text) => handler.line(text)).once("close", () => handler.end?.());
  return () => lines.close();
}

const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { c: "SIGINT", "\\": "SIGQUIT", z: "SIGTSTP" };
