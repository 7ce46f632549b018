import { DatabaseSync } from "node:sqlite";
import { importPeer } from "../peers.mjs";
import { GOAL, kept, MODEL, NOTE, SYSTEM } from "../work.mjs";

/**
 * Its own SQLite checkpointer, over Node's SQLite: the checkpointer asks for better-sqlite3, which needs a compiler and
 * does not run on every Node, and the few methods it calls are the same.
 */
export async function open({ baseUrl, home }) {
  const { createReactAgent } = await importPeer("@langchain/langgraph/prebuilt");
  const { SqliteSaver } = await importPeer("@langchain/langgraph-checkpoint-sqlite");
  const { ChatOpenAI } = await importPeer("@langchain/openai");
  const { tool } = await importPeer("@langchain/core/tools");
  const database = new DatabaseSync(`${home}/checkpoints.db`);
  const checkpointer = new SqliteSaver(asBetterSqlite(database));
  const llm = new ChatOpenAI({ model: MODEL, apiKey: "none", streaming: true, configuration: { baseURL: baseUrl } });
  return {
    async converse(worker, onTurn) {
      const note = tool(
        ({ text }) => {
          onTurn();
          return kept(text);
        },
        { name: NOTE.name, description: NOTE.description, schema: NOTE.parameters },
      );
      const graph = createReactAgent({ llm, tools: [note], prompt: SYSTEM, checkpointer });
      const input = { messages: [{ role: "user", content: GOAL }] };
      const options = { configurable: { thread_id: worker }, recursionLimit: 10_000, streamMode: "messages" };
      for await (const _ of await graph.stream(input, options));
    },
    async close() {
      database.close();
    },
  };
}

function asBetterSqlite(database) {
  return {
    // better-sqlite3 is compiled with this default; Node's SQLite would sync at every commit.
    pragma: (text) => database.exec(`PRAGMA ${text}; PRAGMA synchronous=NORMAL;`),
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      // better-sqlite3 binds undefined as NULL; Node's refuses it.
      const bound = (args) => args.map((value) => value ?? null);
      return {
        run: (...args) => statement.run(...bound(args)),
        get: (...args) => statement.get(...bound(args)),
        all: (...args) => statement.all(...bound(args)),
      };
    },
    transaction:
      (body) =>
      (...args) => {
        database.exec("BEGIN");
        try {
          const result = body(...args);
          database.exec("COMMIT");
          return result;
        } catch (error) {
          database.exec("ROLLBACK");
          throw error;
        }
      },
  };
}
