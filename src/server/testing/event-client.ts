import { once } from "node:events";
import { type ClientOptions, WebSocket } from "ws";

/** A frame as it came. Facts have a seq; words and snapshots do not. */
export type Frame = { type: string; seq?: number } & Record<string, unknown>;

/** A client that records every frame. */
export class EventClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #hear = () => {};

  constructor(url: string, options: ClientOptions = {}) {
    this.socket = new WebSocket(url, options);
    this.socket.on("message", (data) => {
      this.frames.push(JSON.parse(String(data)));
      this.#hear();
    });
    this.socket.on("error", () => {});
    this.closed = once(this.socket, "close").then(([code, reason]) => ({ code, reason: String(reason) }));
  }

  get seqs(): number[] {
    return this.frames.flatMap(({ type, seq }) => (type === "snapshot" || seq === undefined ? [] : [seq]));
  }

  /** Resolves as soon as it is so; rejects when the connection ends before. */
  until(isSo: (frames: readonly Frame[]) => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#hear = () => {
      if (isSo(this.frames)) resolve();
    };
    this.#hear();
    this.closed.then(({ code, reason }) => reject(new Error(`Closed with ${code} ${reason}`)));
    return promise;
  }
}
