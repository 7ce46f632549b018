export type SocketState = "connecting" | "open" | "lost" | "refused";

export interface SocketPorts {
  /** Asked at every connection, so that it goes on where the last one ended. */
  address(): string;
  heard(frame: unknown): void;
  changed(state: SocketState): void;
}

/** Closed by the server with a reason that trying again does not mend. */
const FINAL = new Set([4400, 4401, 4403, 4404]);
const SHORTEST_MS = 250;
const LONGEST_MS = 8000;

/** A connection that comes back: with growing patience, and at once when the person or the network does. */
export class LiveSocket {
  readonly #ports: SocketPorts;
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #patience = SHORTEST_MS;
  #isClosed = false;

  constructor(ports: SocketPorts) {
    this.#ports = ports;
    window.addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    window.removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  /** Something is missing: connect anew and ask from there. */
  again(): void {
    this.#socket?.close();
  }

  readonly #hurry = (): void => {
    if (this.#timer === undefined || document.hidden) return;
    clearTimeout(this.#timer);
    this.#connect();
  };

  #connect(): void {
    this.#timer = undefined;
    const url = new URL(this.#ports.address(), location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onopen = () => {
      this.#patience = SHORTEST_MS;
      this.#ports.changed("open");
    };
    socket.onmessage = ({ data }) => {
      if (this.#socket === socket && typeof data === "string") this.#ports.heard(JSON.parse(data));
    };
    socket.onclose = ({ code }) => {
      if (this.#isClosed || this.#socket !== socket) return;
      if (FINAL.has(code)) {
        this.#ports.changed("refused");
        return;
      }
      this.#ports.changed("lost");
      this.#timer = setTimeout(() => this.#connect(), this.#patience * (0.5 + Math.random()));
      this.#patience = Math.min(this.#patience * 2, LONGEST_MS);
    };
  }
}
