export type SocketState = "open" | "lost" | "refused";

export interface SocketPorts {
  /** Asked at every connection, so that it goes on where the last one ended. */
  address(): string;
  heard(frame: unknown): void;
  changed(state: SocketState): void;
  /** The place that `address` asked for is not there: from now on it must ask for another. */
  forgetPlace?(): void;
}

/** The server knows nothing at this address: retrying does not help. */
const UNKNOWN = 4404;
/** The server does not understand where we want to go on: its log is another than ours. */
const LOST_PLACE = 4400;
const SHORTEST_MS = 250;
const LONGEST_MS = 8000;

/** A connection that is reopened: with growing pauses, and at once when the person or the network comes back. */
export class LiveSocket {
  readonly #ports: SocketPorts;
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #patience = SHORTEST_MS;
  #isResting = false;
  /** Whether this connection brought anything, and since when it stands. */
  #hasServed = false;
  #openedAt = Number.POSITIVE_INFINITY;

  constructor(ports: SocketPorts) {
    this.#ports = ports;
    window.addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    this.#connect();
  }

  /** Nobody listens: a page that has seen many agents must not hold a connection for each of them. */
  rest(): void {
    this.#isResting = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const left = this.#socket;
    this.#socket = undefined;
    left?.close();
  }

  wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    this.#patience = SHORTEST_MS;
    this.#connect();
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
    this.#openedAt = Number.POSITIVE_INFINITY;
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      this.#openedAt = performance.now();
      this.#ports.changed("open");
    };
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket || typeof data !== "string") return;
      const frame = parsed(data);
      this.#hasServed ||= frame !== undefined;
      if (frame !== undefined) this.#ports.heard(frame);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket !== socket) return;
      if (code === UNKNOWN) {
        this.#ports.changed("refused");
        return;
      }
      if (code === LOST_PLACE) this.#ports.forgetPlace?.();
      const hasLasted = performance.now() - this.#openedAt > LONGEST_MS;
      if (hasLasted || (this.#hasServed && !hasReason(code))) this.#patience = SHORTEST_MS;
      this.#hasServed = false;
      this.#ports.changed("lost");
      this.#timer = setTimeout(() => this.#connect(), this.#patience * (0.5 + Math.random()));
      this.#patience = Math.min(this.#patience * 2, LONGEST_MS);
    };
  }
}

/** A server that closes each connection as soon as it is open must not be asked four times a second, for ever. */
function hasReason(code: number): boolean {
  return code === 1008 || code === 1011 || code >= 4000;
}

/** What is no JSON says nothing: a hole that it leaves shows by the next number. */
function parsed(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return undefined;
  }
}
