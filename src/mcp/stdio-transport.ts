import { type ChildProcess, spawn } from "node:child_process";
import { type JSONRPCMessage, ReadBuffer, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import { type GroupWatcher, startGroupWatcher } from "../sandbox/process/group-watcher.ts";
import { Output } from "../sandbox/process/output.ts";

export interface StdioServer {
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd?: string | undefined;
}

const STDERR_BYTES = 8_000;
const MAX_MESSAGE_BYTES = 10 * 1024 ** 2;
/** The limit of what waits to be read by the server: it may send requests without end and never read an answer. */
const MAX_UNREAD_BYTES = 16 * 1024 ** 2;
/** So long, and so many messages, are dealt with in one go; then others have their turn, for the larger part of the time. */
const SLICE_MS = 5;
const SLICE_MESSAGES = 25;
const OTHERS_SHARE = 4;
/** It is asked by the end of its input, then by SIGTERM, each time with so long to end. */
const GRACE_MS = 1_000;
/** What it said last may still be in the pipe; somebody else may hold that pipe open. */
const LAST_WORDS_MS = 500;

/**
 * An MCP server as a child process.
 *
 * MCP-STDIO-1. It runs in its own process group, which ends as a whole. If we are killed, the group is killed too,
 *     whether or not it notices the end of its input.
 * MCP-STDIO-2. It gets the given environment and nothing else of ours.
 * MCP-STDIO-3. It cannot fill our memory: of stderr the beginning and the end are kept, and a server that sends an
 *     endless message or does not read its input is ended.
 * MCP-STDIO-4. However fast it writes, reading takes at most a fifth of our time: a flood waits in the pipe.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  readonly #stderr = new Output(STDERR_BYTES);
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  readonly #gone = Promise.withResolvers<void>();
  #child: ChildProcess | undefined;
  #watcher: GroupWatcher | undefined;
  #ended: string | null = null;
  #isClosing = false;

  constructor(server: StdioServer) {
    this.#server = server;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** What it complained of so far. The SDK knows by this property that it speaks with a process. */
  get stderr(): string {
    return this.#stderr.text().trim();
  }

  /** How it ended by itself, or null. */
  get ended(): string | null {
    return this.#ended;
  }

  async start(): Promise<void> {
    const [program = "", ...args] = this.#server.command;
    const { env, cwd } = this.#server;
    const watcher = startGroupWatcher();
    this.#watcher = watcher;
    const child = spawn(program, args, { env: { ...env }, cwd, stdio: "pipe", detached: true });
    this.#child = child;
    if (child.pid === undefined) watcher.stop();
    else watcher.watch(child.pid);
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    const { promise: started, resolve, reject } = Promise.withResolvers<void>();
    child.once("spawn", resolve);
    child.once("error", (error) => {
      this.#ended ??= `it could not be started: ${error.message}`;
      this.#gone.resolve();
      reject(error);
    });
    child.once("exit", (code, signal) => {
      if (!this.#isClosing) this.#ended ??= signal ? `it was ended by ${signal}` : `it exited with code ${code}`;
      const heard = setTimeout(() => this.#over(), LAST_WORDS_MS);
      child.once("close", () => {
        clearTimeout(heard);
        this.#over();
      });
    });
    await started;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin || this.#ended !== null) throw new Error(`The server is gone: ${this.#ended ?? "it is closed"}.`);
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      this.#ended ??= "it does not read what it is sent";
      this.#kill("SIGKILL");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    // A pipe that breaks is mostly the first sign of its end: how it ended, and what it said last, follow at once.
    await promise.catch(async (error: unknown) => {
      await this.#goneWithin(GRACE_MS);
      throw error;
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child?.pid) return;
    this.#isClosing = true;
    child.stdin?.end();
    if (await this.#goneWithin(GRACE_MS)) return;
    this.#kill("SIGTERM");
    if (await this.#goneWithin(GRACE_MS)) return;
    this.#kill("SIGKILL");
    await this.#gone.promise;
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#ended ??= `it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 ** 2} MiB`;
      this.#kill("SIGKILL");
      this.onerror?.(error as Error);
      return;
    }
    this.#deal();
  }

  /** What is in the buffer, a slice at a time (MCP-STDIO-4). */
  #deal(): void {
    const stdout = this.#child?.stdout;
    const began = performance.now();
    for (let dealt = 1; dealt <= SLICE_MESSAGES && performance.now() - began < SLICE_MS; dealt++) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) {
          stdout?.resume();
          return;
        }
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error); // a line that is not a message is skipped
      }
    }
    stdout?.pause();
    // What follows from a message is done after it: that counts too.
    setImmediate(() => setTimeout(() => this.#deal(), Math.max(1, (performance.now() - began) * OTHERS_SHARE)));
  }

  #over(): void {
    this.#kill("SIGKILL"); // what it has left behind
    this.#watcher?.stop();
    this.#buffer.clear();
    this.#gone.resolve();
    const { onclose } = this;
    delete this.onclose; // once
    onclose?.();
  }

  #kill(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // nobody is left in its group
    }
  }

  async #goneWithin(ms: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>();
    const timer = setTimeout(resolve, ms, false);
    try {
      return await Promise.race([this.#gone.promise.then(() => true), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
