import type { PaneView } from "./pane-view.ts";
import type { TmuxClient } from "./tmux-client.ts";
import type { TmuxServer } from "./tmux-server.ts";

/** Our tmux client for one session. If the client is killed, it is replaced, as long as the session exists. */
export class PaneConnection {
  readonly #server: TmuxServer;
  readonly #session: string;
  readonly #ports: PanePorts;
  #client: TmuxClient;
  #reattaching: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(server: TmuxServer, session: string, ports: PanePorts) {
    this.#server = server;
    this.#session = session;
    this.#ports = ports;
    this.#client = this.#attach();
  }

  /** Leaves the terminal as it is. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  /** What the terminal shows now; undefined while our client comes back. */
  async look(): Promise<PaneView | undefined> {
    const [[line], screen] = await this.#ask((client) =>
      Promise.all([client.onPaneOf("display-message", "-p", PANE), client.onPaneOf("capture-pane", "-p")]),
    ).catch((): [string[], string[]] => [[], []]);
    return line === undefined ? undefined : paneView(line, screen);
  }

  /** The screen with a few lines above it. */
  lastLines(): Promise<string[]> {
    return this.#ask((client) => client.onPaneOf("capture-pane", "-p", "-S", "-5")).catch(() => []);
  }

  /** Keeps a value with the session; it is gone with the session. */
  async setNote(name: string, value: string): Promise<void> {
    await this.#ask((client) => client.onPaneOf("set-option", `@tx_${name}`, value));
  }

  async note(name: string): Promise<string> {
    const lines = await this.#ask((client) => client.onPaneOf("show-options", "-qv", `@tx_${name}`));
    return lines.join("\n");
  }

  /** Asks once more if our client ended meanwhile: only for what may be done twice. */
  async #ask<T>(ask: (client: TmuxClient) => Promise<T>): Promise<T> {
    for (;;) {
      const client = this.#client;
      try {
        return await ask(client);
      } catch (error) {
        if (!client.hasEnded) throw error;
        await this.#reattaching;
        if (this.#client === client) throw error;
      }
    }
  }

  #attach(): TmuxClient {
    const client = this.#server.attach(this.#session);
    client.onChange = () => this.#ports.onOutput();
    client.onEnd = () => {
      this.#reattaching = this.#reattach();
    };
    return client;
  }

  /** Our client may have been killed, or the session itself may be gone. */
  async #reattach(): Promise<void> {
    if (this.#isClosed) return;
    const isThere = await this.#server.has(this.#session).catch(() => false);
    if (this.#isClosed) return;
    if (isThere) this.#client = this.#attach();
    this.#ports.onClientEnded(isThere);
  }
}

export interface PanePorts {
  /** The terminal has changed. */
  onOutput(): void;
  /** Our client ended; the session is still there, or is gone. */
  onClientEnded(isSessionThere: boolean): void;
}

const PANE =
  "#{pane_dead} #{session_attached} %s #{session_activity} #{pane_width} #{cursor_x},#{cursor_y},#{history_size} #{pane_dead_status} #{pane_title}";

function paneView(line: string, screen: string[]): PaneView {
  const [dead, attached, now, keys, width, cursor = "", status = "", ...title] = line.split(" ");
  return {
    screen,
    title: title.join(" "),
    isDead: dead === "1",
    status,
    cursor,
    width: Number(width),
    isWatched: Number(attached) > 1,
    keys: Number(keys),
    now: Number(now),
  };
}
