import { openSync } from "node:fs";
import { join } from "node:path";

const LONGEST_SOCKET_PATH = 100;

/**
 * In the home, where only its owner can reach it. A unix socket's path is short by law; a deep home is reached through a
 * descriptor of its folder, on Linux. Elsewhere a home that deep has no control socket.
 */
export function controlPath(home: string): string {
  const inHome = join(home, "control.sock");
  if (Buffer.byteLength(inHome) <= LONGEST_SOCKET_PATH || process.platform !== "linux") return inHome;
  let folder = folders.get(home);
  if (folder === undefined) {
    folder = openSync(home, "r");
    folders.set(home, folder);
  }
  return `/proc/self/fd/${folder}/control.sock`;
}

/** Kept open for as long as the process lives: the socket's address depends on them. */
const folders = new Map<string, number>();
