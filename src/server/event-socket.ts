import websocket from "@fastify/websocket";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { z } from "zod";
import { issueWords } from "../boundary/schema-words.ts";
import { unknownField } from "../boundary/unknown-field.ts";
import { type AgentId, agentIdSchema } from "../protocol/index.ts";
import type { SeenAgent } from "../runtime/agent-elsewhere.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { NotFoundError } from "../store/errors.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { Feed } from "./event-feed.ts";
import type { FeedLimits, Follower } from "./follower.ts";
import { followAll } from "./summary-feed.ts";

export interface EventLimits extends FeedLimits {
  clientsPerAgent: number;
  clients: number;
  /** How often a client is asked whether it is still there. */
  pingMs: number;
}

export const EVENT_LIMITS: EventLimits = {
  mostWaiting: 256 * 1024,
  mostFrames: 1000,
  page: 256,
  clientsPerAgent: 128,
  clients: 1024,
  pingMs: 20_000,
};

/** Why a socket is closed, besides the standard 1000, 1001, 1008, 1011. The reason says it in words. */
const CLOSED = { badRequest: 4400, unknownAgent: 4404, tooMany: 4429 } as const;

export interface EventDeps {
  runtime: Pick<Runtime, "listed" | "onLoaded" | "seen" | "subscribe">;
}

/** Counts of the sockets. */
export interface EventSockets {
  readonly clients: number;
}

/**
 * `WS /agents/{id}/events` and `WS /events`.
 *
 * EVENT-SOCKET-1. The guard has already decided who may connect; here an invalid request is answered with a close code
 *     and a reason.
 * EVENT-SOCKET-2. A client that neither answers nor reads anything for two rounds is disconnected.
 * EVENT-SOCKET-3. Nothing is accepted from clients: the API is for that.
 */
export async function registerEvents(
  app: FastifyInstance,
  { runtime }: EventDeps,
  limits: EventLimits = EVENT_LIMITS,
): Promise<EventSockets> {
  const sockets = new Sockets(runtime, limits);
  // The plain GET of the same path is another route: a page of facts as JSON.
  app.addConstraintStrategy(upgradeStrategy());
  if (!app.hasDecorator("websocketServer"))
    await app.register(websocket, {
      options: { maxPayload: 4096, perMessageDeflate: false, handleProtocols: chooseProtocol },
      preClose: (done) => {
        sockets.close();
        done();
      },
    });
  // Anyone who is refused before the upgrade is answered and let go: nobody else would ever close that connection.
  app.addHook("onResponse", async ({ raw }) => {
    if (raw.headers.upgrade !== undefined) raw.socket.destroySoon();
  });
  const constraints = { upgrade: "websocket" };
  app.get("/agents/:id/events", { websocket: true, constraints }, (socket, request) =>
    sockets.watchAgent(socket, request),
  );
  app.get("/events", { websocket: true, constraints }, (socket) => sockets.watchAll(socket));
  return sockets;
}

const count = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number, 0 or more")
  .transform(Number);
const querySchema = z.strictObject({
  after: count.optional(),
  /** First the whole situation, then what follows it. */
  snapshot: z.enum(["0", "1"]).optional(),
  /** With `snapshot`: so many facts from before it come too. */
  recent: count.optional(),
  /** As in the process itself: no word of a reply is left out, and it is told when everybody rests. */
  watch: z.enum(["0", "1"]).optional(),
});
const paramsSchema = z.object({ id: agentIdSchema });

class Sockets implements EventSockets {
  readonly #runtime: EventDeps["runtime"];
  readonly #limits: EventLimits;
  readonly #feeds = new Map<AgentId, Feed>();
  readonly #clients = new Map<WebSocket, { alive: boolean }>();
  readonly #rounds: NodeJS.Timeout;
  readonly #readers = new ConcurrencyLimit(READERS);

  constructor(runtime: EventDeps["runtime"], limits: EventLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
    this.#rounds = setInterval(() => this.#ping(), limits.pingMs).unref();
  }

  get clients(): number {
    return this.#clients.size;
  }

  async watchAgent(socket: WebSocket, request: FastifyRequest): Promise<void> {
    if (!this.#take(socket)) return;
    const params = paramsSchema.safeParse(request.params);
    if (!params.success) return socket.close(CLOSED.unknownAgent, "There is no such agent.");
    const query = querySchema.safeParse(request.query);
    if (!query.success) return socket.close(CLOSED.badRequest, wordsFor(query.error));
    const agent = await this.#open(params.data.id, socket);
    if (!agent) return;
    try {
      this.#begin(socket, agent, query.data);
    } finally {
      // Whoever follows it already does so for all.
      if (this.#feeds.get(agent.log.id)?.agent !== agent) agent.leave?.();
    }
  }

  #begin(
    socket: WebSocket,
    agent: SeenAgent,
    { after, snapshot, recent = 0, watch }: z.output<typeof querySchema>,
  ): void {
    // It may have gone while the agent was opened.
    if (socket.readyState !== socket.OPEN) return;
    if (after !== undefined && after > agent.log.seq)
      return void socket.close(
        CLOSED.badRequest,
        `after: the log ends at ${agent.log.seq}. Connect again without after.`,
      );
    const { now } = agent;
    const isWatching = watch === "1";
    if (snapshot !== "1") this.#follow(socket, agent, { after: after ?? 0, isWatching });
    else
      this.#follow(socket, agent, {
        after: after ?? Math.max(0, now.seq - recent),
        isWatching,
        first: Buffer.from(JSON.stringify({ type: "snapshot", seq: now.seq, situation: now })),
      });
  }

  watchAll(socket: WebSocket): void {
    if (!this.#take(socket)) return;
    const client = followAll(socket, this.#runtime, this.#limits);
    this.#attend(socket, client);
  }

  close(): void {
    clearInterval(this.#rounds);
    for (const socket of this.#clients.keys()) {
      socket.close(1001, "The server is stopping.");
      // One that does not even answer this must not keep the server from stopping.
      setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
    }
  }

  #follow(socket: WebSocket, agent: SeenAgent, { after, isWatching, first }: Wanted): void {
    const { id } = agent.log;
    const feed = this.#feeds.get(id) ?? new Feed(agent);
    this.#feeds.set(id, feed);
    if (feed.size >= this.#limits.clientsPerAgent) {
      socket.close(CLOSED.tooMany, `${feed.size} clients already follow this agent. Close one of them.`);
      return;
    }
    const follower: Follower = feed.join(socket, { after, isWatching }, this.#limits, this.#readers);
    this.#attend(socket, follower);
    const move = () =>
      socket.close(MOVED, "The agent goes on at another host, or was closed. Connect again from the last seq.");
    feed.agent.ended.addEventListener("abort", move, { once: true });
    if (feed.agent.ended.aborted) move();
    socket.once("close", () => {
      feed.agent.ended.removeEventListener("abort", move);
      follower.close();
      feed.leave(follower);
      if (feed.size > 0) return;
      feed.close();
      feed.agent.leave?.();
      this.#feeds.delete(id);
    });
    follower.begin(first);
  }

  /** Counts the client, or says that there are too many. */
  #take(socket: WebSocket): boolean {
    if (this.#clients.size >= this.#limits.clients) {
      socket.close(CLOSED.tooMany, `${this.#clients.size} clients are already connected. Close one of them.`);
      return false;
    }
    this.#attend(socket, { alive: true });
    socket.once("close", () => this.#clients.delete(socket));
    socket.on("message", () => socket.close(1008, "This socket accepts no messages. Use the API."));
    socket.on("pong", () => {
      const client = this.#clients.get(socket);
      if (client) client.alive = true;
    });
    return true;
  }

  #attend(socket: WebSocket, client: { alive: boolean }): void {
    this.#clients.set(socket, client);
  }

  async #open(id: AgentId, socket: WebSocket): Promise<SeenAgent | undefined> {
    try {
      return await this.#runtime.seen(id);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      socket.close(CLOSED.unknownAgent, `There is no agent ${id}.`);
      return undefined;
    }
  }

  #ping(): void {
    for (const [socket, client] of this.#clients) {
      if (!client.alive) {
        socket.terminate();
        continue;
      }
      client.alive = false;
      socket.ping();
    }
  }
}

interface Wanted {
  after: number;
  isWatching: boolean;
  first?: Buffer;
}

/** The standard's "service restart": clients come again. */
const MOVED = 1012;

const GOODBYE_MS = 1000;

/** Followers that read a log's file at the same time, of all agents. */
const READERS = 4;

/** A token among the protocols is how browsers' sockets can bring one; it is not repeated if there is another. */
function chooseProtocol(offered: Set<string>): string | false {
  const [first] = offered;
  return [...offered].find((name) => !name.startsWith("bearer.")) ?? first ?? false;
}

type Strategy = Parameters<FastifyInstance["addConstraintStrategy"]>[0];
type Handlers = ReturnType<Strategy["storage"]>;
type Handler = NonNullable<ReturnType<Handlers["get"]>>;

function upgradeStrategy(): Strategy {
  return {
    name: "upgrade",
    storage: () => {
      const handlers = new Map<unknown, Handler>();
      return {
        get: (key) => handlers.get(key) ?? null,
        set: (key, handler) => {
          handlers.set(key, handler);
        },
      };
    },
    deriveConstraint: ({ headers }) => headers.upgrade?.toLowerCase(),
    validate: () => true,
  };
}

/** Within the 123 bytes that a reason may have. */
function wordsFor(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return "";
  const [unknown] = issue.code === "unrecognized_keys" ? issue.keys : [];
  const words =
    unknown === undefined
      ? `${issue.path.join(".")}: ${issueWords(issue)}`
      : `${unknown.slice(0, 20)}: ${unknownField(unknown, querySchema, [])}`;
  // A character that is cut in two is left out.
  return Buffer.from(words)
    .subarray(0, 120)
    .toString("utf8")
    .replace(/\uFFFD+$/u, "");
}
