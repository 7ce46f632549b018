import { createServer, type Server, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { ServerDeps } from "./deps.ts";
import { boundAddress, ownUrl } from "./reach.ts";
import { finishAndClose } from "./shutdown.ts";

/** Connections without their response by then are not waited for. */
const REQUESTS_END_WITHIN_MS = 1000;

/**
 * The API of a process that works in a home without being a server: other terminals on this machine join it there.
 *
 * OWN-PORT-1. Only on loopback, on a port that the system chooses, with the same guard and token as a server.
 * OWN-PORT-2. It costs nothing until it is used: the server is loaded and created at the first connection, which waits
 *     unread until then.
 */
export class OwnPort {
  url = "";
  readonly #bare: Server;
  readonly #make: () => Promise<FastifyInstance>;
  readonly #waiting = new Set<Socket>();
  #making: Promise<FastifyInstance> | undefined;

  private constructor(make: () => Promise<FastifyInstance>) {
    this.#make = make;
    this.#bare = createServer({ pauseOnConnect: true }, (socket) => this.#greet(socket));
    this.#bare.unref();
  }

  static async open(deps: Omit<ServerDeps, "reach">): Promise<OwnPort> {
    const port = new OwnPort(async () => {
      const { buildServer } = await import("./server.ts");
      return buildServer({ ...deps, reach: {} });
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    port.#bare.once("error", reject).listen(0, "127.0.0.1", resolve);
    await promise;
    port.url = ownUrl(boundAddress(port.#bare), {});
    // Accepting a connection can fail, for example when no descriptors are left. The other terminal tries again.
    port.#bare.on("error", () => {});
    return port;
  }

  /** Accepts nothing new, and finishes open requests. */
  async close(): Promise<void> {
    const app = await this.#making?.catch(() => undefined);
    if (app) await finishAndClose(app, REQUESTS_END_WITHIN_MS);
    else this.#bare.close();
  }

  #greet(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once("error", () => socket.destroy()).once("close", () => this.#waiting.delete(socket));
    this.#making ??= this.#open();
    this.#making.catch(() => {
      socket.destroy();
      this.#making = undefined;
    });
  }

  /** The port, and who has come by it meanwhile. */
  async #open(): Promise<FastifyInstance> {
    const app = await this.#make();
    await app.ready();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    app.server.once("error", reject).listen(this.#bare, resolve);
    await promise;
    app.server.unref();
    for (const socket of this.#waiting) {
      app.server.emit("connection", socket);
      socket.resume();
    }
    this.#waiting.clear();
    return app;
  }
}
