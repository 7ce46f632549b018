import { openStore } from "../../src/store/open-store.ts";

/**
 * A real process on a real home, for the tests that hurt it: `node store-child.ts HOME COUNT JOURNAL_LIMIT`.
 * Says `open`, then for each append `acked N` or `refused N Error`, then `done`; with COUNT 0 it holds the home until
 * it is killed.
 */
const [root = "", count = "0", limit = "8388608"] = process.argv.slice(2);
try {
  const store = await openStore({ root, clock: { now: () => Date.now() }, journalLimit: Number(limit) });
  console.log("open");
  if (Number(count) === 0) setInterval(() => {}, 1e6);
  else {
    const log = await store.open("agent-abcd").catch(() => store.create("agent-abcd"));
    for (let number = 1; number <= Number(count); number++) {
      try {
        const facts = [{ type: "agent.completed", data: { summary: `fact ${number}` } }] as const;
        const entries = [{ role: "user", from: "human", content: `entry ${number}` }] as const;
        await log.append({ facts, entries: { file: "conversation.jsonl", entries } }).durable;
        console.log(`acked ${number}`);
      } catch (error) {
        console.log(`refused ${number} ${error instanceof Error ? error.name : error}`);
      }
    }
    await store.close();
    console.log("done");
  }
} catch (error) {
  console.log(`failed ${error instanceof Error ? `${error.name}: ${error.message}` : error}`);
}
