import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { FactOf, RunId } from "../../protocol/index.ts";
import { replaceFile } from "../disk/atomic-file.ts";
import { runDir } from "../paths.ts";
import type { AgentLog } from "../store.ts";

/** `_messages/0001_alice_to_bob.md`: the message log, one file each. Derived: the log has every word. */
export function writeMessage(agentDir: string, run: RunId, { data, ts }: FactOf<"message.sent">): void {
  const { from, to, text, file } = data;
  replaceFile(join(runDir(agentDir, run), file), `FROM: ${from}\nTO: ${to}\nTIME: ${ts}\n\n${text}\n`);
}

/** If a process was killed between the fact and its file, the missing file is written at the next start. */
export async function writeMissingMessages(log: AgentLog, sent: number, runs: number): Promise<void> {
  const there = new Set<string>();
  for (let run = 1; run <= runs; run++) for (const file of messagesOf(log.dir, `run-${run}`)) there.add(file);
  if (there.size >= sent) return;
  let run: RunId = "run-1";
  for (let after = 0; ; ) {
    const page = await log.read({ after, limit: PAGE });
    for (const fact of page) {
      if (fact.type === "run.started") run = fact.data.run_id;
      if (fact.type === "message.sent" && !there.has(`${run}/${fact.data.file}`)) writeMessage(log.dir, run, fact);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.seq;
  }
}

const PAGE = 5000;

function messagesOf(agentDir: string, run: RunId): string[] {
  try {
    const names = readdirSync(join(runDir(agentDir, run), "_messages"));
    return names.filter((name) => name.endsWith(".md")).map((name) => `${run}/_messages/${name}`);
  } catch {
    return []; // the run made no folder yet
  }
}
