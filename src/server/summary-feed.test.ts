import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { AgentSummaryData } from "../projections/index.ts";
import { followAll } from "./summary-feed.ts";

test("everybody who follows the list gets it again when agents were loaded, also while it is being made", async () => {
  const agent = { id: "agent-aaaa", nodes: {}, goal: "", summary: null, error: null };
  const lists = [[{ ...agent, loading: true }], [], [agent]];
  const frames: { agents: object[] }[] = [];
  let loaded = () => {};
  const all = Promise.withResolvers<void>();
  const socket = Object.assign(new EventEmitter(), {
    readyState: 1,
    OPEN: 1,
    bufferedAmount: 0,
    send(frame: string) {
      if (frames.push(JSON.parse(frame)) === 3) all.resolve();
      // The list is out of date as soon as it is there.
      if (frames.length === 1) queueMicrotask(loaded);
    },
  });
  const runtime = {
    listed: async () => {
      const list = lists.shift();
      // It was made, and has yet to be sent.
      if (list?.length === 0) loaded();
      return list as unknown as AgentSummaryData[];
    },
    subscribe: () => () => {},
    onLoaded: (listener: () => void) => {
      loaded = listener;
      return () => {};
    },
  };
  followAll(socket as unknown as WebSocket, runtime, { mostWaiting: 1000 });
  await all.promise;
  expect(frames.map(({ agents }) => agents.map((agent) => "loading" in agent))).toEqual([[true], [], [false]]);
});
