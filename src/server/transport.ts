import type { IncomingMessage } from "node:http";

/** One address may answer by HTTP and by WebSocket, each with a handler of its own: this tells them apart. */
export const BY_HTTP = { transport: "http" } as const;

export const transportConstraint = {
  name: "transport",
  storage() {
    const handlers = new Map<string, never>();
    return {
      get: (value: string) => handlers.get(value) ?? null,
      set: (value: string, handler: never) => void handlers.set(value, handler),
    };
  },
  deriveConstraint: (request: IncomingMessage) => (request.headers.upgrade === undefined ? "http" : "websocket"),
  mustMatchWhenDerived: false,
};
