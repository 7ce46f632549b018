import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import type { Fact } from "../../protocol/index.ts";
import { tokenOf } from "../../store/home/token-file.ts";
import { openStore } from "../../store/open-store.ts";
import { writeLongLog } from "../../testing/long-log.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import type { Invocation } from "../invocation.ts";
import { JoinedAgent } from "./joined-agent.ts";
import { otherProcess } from "./other-process.ts";

const ID = "agent-long0000";

test("JOINED-3: a process that refuses this terminal is asked once why, and the person is told", async () => {
  const refusal = { code: "unauthorised", message: "The token is wrong. `agiraph token` prints the right one." };
  const { url, asked, pauses, agent } = await joined({ status: 401, body: { error: refusal }, isOpenFrom: Infinity });
  agent.log.subscribe(() => {});
  await expect(agent.idle()).rejects.toMatchObject({
    name: "Refusal",
    message:
      `The process at ${url} refuses to show long (${ID}) to this terminal: ${refusal.message} ` +
      `What was done is kept. To read on: agiraph logs ${ID} -f`,
  });
  // What opens sockets tries a 401 twice by itself.
  expect({ asked: [...new Set(asked)], requests: count(asked, "request"), pauses }).toEqual({
    asked: ["socket", "request"],
    requests: 1,
    pauses: [],
  });
});

test("JOINED-3: lost connections are made again, after growing pauses, until one holds", async () => {
  const { asked, pauses, agent } = await joined({
    status: 503,
    body: { error: { code: "busy", message: "" } },
    isOpenFrom: 7,
  });
  const heard = Promise.withResolvers<Fact>();
  agent.log.subscribe(heard.resolve);
  expect(await heard.promise).toMatchObject({ type: "agent.paused" });
  expect({ sockets: count(asked, "socket"), pauses }).toEqual({
    sockets: 7,
    pauses: [200, 400, 800, 1600, 3200, 3200],
  });
});

const count = (all: readonly string[], one: string) => all.filter((each) => each === one).length;

interface Answers {
  /** To every request. */
  status: number;
  body: object;
  /** The first socket that is let in; the others are refused. */
  isOpenFrom: number;
}

/** A terminal that has joined a process, which answers like this. */
async function joined({ status, body, isOpenFrom }: Answers) {
  // None of them takes any time.
  const pauses: number[] = [];
  const home = await temporaryHome();
  onTestFinished(() => home.remove());
  await writeLongLog(home.path, ID);
  const store = await openStore({ root: home.path, clock: { now: Date.now } });
  onTestFinished(() => store.close());
  const asked: ("request" | "socket")[] = [];
  const server = createServer((_, response) => {
    asked.push("request");
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "agiraph" });
  server.on("upgrade", (request, socket, head) => {
    asked.push("socket");
    if (count(asked, "socket") < isOpenFrom)
      return void socket.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\n\r\n`);
    sockets.handleUpgrade(request, socket, head, (open) => {
      const seq = Number(new URL(request.url ?? "", "http://x").searchParams.get("after")) + 1;
      open.send(JSON.stringify({ seq, type: "agent.paused", agent_id: ID, ts: 1, data: { why: "human" } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  tokenOf(home.path);
  store.announce({ url, serves: true, command: "agiraph serve" });
  const settings = { home: home.path, env: {}, config: {} };
  const other = await otherProcess(settings);
  if (!other) throw new Error("Nobody has the home.");
  const log = await store.open(ID);
  const call = { terminal: { env: {} }, home: undefined } as Invocation;
  const agent = await JoinedAgent.open(call, settings, other, {
    log,
    after: log.seq,
    pause: async (ms) => void pauses.push(ms),
  });
  onTestFinished(() => agent.close());
  return { url, asked, pauses, agent };
}
