import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ProviderServer, startProviderServer } from "../testing/provider-server.ts";
import { type TemporaryHome, temporaryHome } from "../testing/temporary-home.ts";
import { agiraph, CliProcess, mainFile, processEnvironment } from "./testing/cli-process.ts";

const exec = promisify(execFile);
const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

let folder: TemporaryHome;
let provider: ProviderServer;

/** A real terminal of a given size, and what a person sees in it. */
class Pane {
  readonly #socket: string;
  readonly #env: Record<string, string>;

  constructor(socket: string, env: Record<string, string>) {
    this.#socket = socket;
    this.#env = env;
  }

  async tmux(...words: string[]): Promise<string> {
    return (await exec("tmux", ["-S", this.#socket, "-f", "/dev/null", ...words], { env: this.#env })).stdout;
  }

  /** Runs the command line; when it has ended, `ended` resolves and the screen stays as it was. */
  async open(columns: number, rows: number, command: string): Promise<void> {
    const script = `${command}; echo "exit code $?"; tmux -S '${this.#socket}' wait-for -S ended; cat`;
    await this.tmux("new-session", "-d", "-x", String(columns), "-y", String(rows), script);
  }

  async ended(): Promise<void> {
    await this.tmux("wait-for", "ended");
  }

  async screen(): Promise<string[]> {
    return (await this.tmux("capture-pane", "-p", "-S", "-200")).trimEnd().split("\n");
  }

  async shows(words: string): Promise<void> {
    await expect.poll(async () => (await this.screen()).join("\n")).toContain(words);
  }
}

describe.skipIf(!hasTmux)(
  hasTmux ? "in a real terminal" : "in a real terminal (skipped: tmux is not installed)",
  () => {
    let pane: Pane;

    beforeEach(async () => {
      folder = await temporaryHome();
      provider = await startProviderServer({
        turns: {
          "Deep question": [
            {
              text: "I let someone think about it.",
              calls: [{ name: "create_work_node", args: { task: "Think hard" } }],
            },
            { text: "I wait." },
            { calls: [{ name: "finish", args: { summary: "It is 42." } }] },
          ],
          "Think hard": [
            {
              text: "Reading.",
              hold: "thought",
              calls: [{ name: "write_file", args: { path: "scratch/answer.md", content: "42" } }],
            },
            { calls: [{ name: "publish", args: { summary: "42" } }] },
          ],
        },
      });
      const env = processEnvironment({
        folder: folder.path,
        env: { ...provider.env, AGIRAPH_HOME: join(folder.path, "home"), TERM: "xterm-256color", NO_COLOR: "1" },
      });
      pane = new Pane(join(folder.path, "tmux.sock"), env);
    });

    afterEach(async () => {
      await pane.tmux("kill-server").catch(() => {});
      await provider.close();
      await folder.remove();
    });

    const command = () => `'${process.execPath}' '${mainFile}' run 'Deep question' --model ollama/test`;
    const stable = (line: string) =>
      line
        .replace(/\d+ ms/, "N ms")
        .replace(/\d+:\d\d/, "M:SS")
        .replace(/agent-\w{8}/g, "ID")
        .trimEnd();

    test("the team's status stands below the story while it works, and is gone without a trace at the end", async () => {
      await pane.open(100, 40, command());
      await provider.reached("thought");
      // Alice may be at her first turn before the coordinator has ended its second.
      const foot = async () => (await pane.screen()).slice(-4).map(stable);
      await expect
        .poll(foot)
        .toEqual([
          expect.stringMatching(/^deep-question · 0\/1 node · 2 calls · .* · M:SS$/),
          "★ coordinator: waits for the team",
          "└ ▸ node-1  Think hard — Alice: thinking",
          "› ▏ type to talk to the coordinator, /help for more",
        ]);

      provider.release("thought");
      await pane.ended();
      const screen = await pane.screen();
      const from = screen.findIndex((line) => line.startsWith("coordinator"));
      const seen = screen.slice(from).map(stable).map(withoutPaths);
      // Two of a team may speak in either order.
      expect(seen.filter((line) => line.startsWith("coordinator"))).toEqual([
        "coordinator │ I let someone think about it.",
        "coordinator │ I wait.",
      ]);
      expect(seen.filter((line) => !line.startsWith("coordinator"))).toEqual([
        "node-1      + Think hard",
        "node-1      ▸ Alice",
        "Alice       │ Reading.",
        "Alice       ✓ write_file scratch/answer.md N ms",
        "node-1      ✓ Alice: 42",
        "It is 42.",
        "",
        "PATH",
        "",
        "PATH",
        "PATH",
        expect.stringMatching(/^✓ deep-question has finished: 5 model calls, .*, M:SS\. Details: agiraph show ID$/),
        "exit code 0",
      ]);
      expect(await pane.tmux("display-message", "-p", "#{cursor_flag}")).toBe("1\n");
    });

    test("after the window was made narrow in the middle, nothing of the region is left either", async () => {
      await pane.open(100, 30, command());
      await provider.reached("thought");
      await pane.shows("Alice: thinking");
      await pane.tmux("resize-window", "-x", "32", "-y", "30");
      await expect.poll(async () => (await pane.screen()).at(-1)?.length).toBeLessThanOrEqual(32);
      provider.release("thought");
      await pane.ended();
      const screen = (await pane.screen()).join("\n");
      expect({ stars: screen.match(/★/g), heads: screen.match(/0\/1 node/g), stems: screen.match(/[└├]/g) }).toEqual({
        stars: null,
        heads: null,
        stems: null,
      });
    });

    test("REGION-1: in a window that it fills, no frame is left in the scrollback", async () => {
      await pane.open(100, 30, command());
      await provider.reached("thought");
      await pane.shows("Alice: thinking");
      // Low enough that the region begins in the first row.
      await pane.tmux("resize-window", "-x", "100", "-y", "5");
      const head = async () => (await pane.screen()).find((line) => line.includes("0/1 node"));
      const first = await head();
      await expect.poll(head, { timeout: 10_000 }).not.toBe(first);
      const later = await head();
      await expect.poll(head, { timeout: 10_000 }).not.toBe(later);
      const screen = (await pane.screen()).join("\n");
      expect(screen.match(/0\/1 node/g)).toHaveLength(1);
    });

    test("Ctrl-C in the terminal stops kindly and leaves a clean line with the command to go on", async () => {
      await pane.open(100, 40, command());
      await provider.reached("thought");
      await pane.shows("Alice: thinking");
      await pane.tmux("send-keys", "C-c");
      await pane.ended();
      const screen = await pane.screen();
      expect(screen.slice(-2).map(stable)).toEqual([
        expect.stringMatching(/^Stopped after 2 model calls, .*, M:SS\. Continue with: agiraph resume ID$/),
        "exit code 130",
      ]);
      expect(screen.join("\n")).not.toContain("★");
    });

    test("an infinite agent between its cycles is seen to be asleep, and until when", async () => {
      await using sleepy = await startProviderServer({
        turns: [{ calls: [{ name: "checkpoint", args: { summary: "Nothing new." } }] }],
      });
      const server = `OLLAMA_BASE_URL='${sleepy.env.OLLAMA_BASE_URL}'`;
      await pane.open(100, 40, `${server} ${command()} --mode infinite --every 1h`);
      await expect
        .poll(async () => (await pane.screen()).slice(-2).map(stable))
        .toEqual([
          expect.stringMatching(/^★ coordinator: asleep until (\d{4}-\d\d-\d\d )?\w+:\w\w$/),
          "› ▏ type to talk to the coordinator, /help for more",
        ]);
      await pane.tmux("send-keys", "C-c");
      await pane.ended();
      expect((await pane.screen()).slice(-2).map(stable)).toEqual([
        expect.stringMatching(/^Stopped after 1 model call, .* Continue with: agiraph resume ID$/),
        "exit code 130",
      ]);
    });

    test("a question is asked inline and answered by typing; other words go to the coordinator; nothing is torn", async () => {
      await using asking = await startProviderServer({
        turns: [
          { hold: "begun", calls: [{ name: "list_files", args: { path: "" } }] },
          {
            calls: [
              { name: "send_message", args: { to: "human", content: "I begin.\nIt takes a while." } },
              { name: "ask_human", args: { question: "Which colour?", choices: ["Blue", "Red"] } },
            ],
          },
          { calls: [{ name: "finish", args: { summary: "Red it is." } }] },
        ],
      });
      const env = { OLLAMA_BASE_URL: asking.env.OLLAMA_BASE_URL ?? "" };
      await pane.open(100, 40, `OLLAMA_BASE_URL='${env.OLLAMA_BASE_URL}' ${command()}`);
      await asking.reached("begun");
      await pane.shows("type to talk");
      await pane.tmux("send-keys", "Mind thx", "BSpace", "e cat.", "Enter");
      await pane.shows("→ coordinator: Mind the cat.");
      asking.release("begun");
      await pane.shows("answer coordinator ›");
      await pane.tmux("send-keys", "Enter");
      await pane.shows("? coordinator asks: Which colour?");
      await pane.tmux("send-keys", "2", "Enter");
      await pane.ended();
      const screen = await pane.screen();
      const from = screen.findIndex((line) => line.startsWith("you"));
      const seen = screen.slice(from).map(stable).map(withoutPaths);
      expect(seen.filter((line) => !line.includes("list_files"))).toEqual([
        "you         → coordinator: Mind the cat.",
        "coordinator » I begin.",
        "            » It takes a while.",
        "coordinator ? Which colour?",
        "            ?   1  Blue",
        "            ?   2  Red",
        "? coordinator asks: Which colour?",
        "    1  Blue",
        "    2  Red",
        "you         → coordinator: Red",
        "Red it is.",
        "",
        "PATH",
        "",
        "PATH",
        expect.stringMatching(/^✓ deep-question has finished: 3 model calls, /),
        "exit code 0",
      ]);
      expect(JSON.stringify(asking.requests[1]?.body)).toContain("Mind the cat.");
      expect(await pane.tmux("display-message", "-p", "#{cursor_flag}")).toBe("1\n");
    });

    test("resume asks again what is open, whole, however narrow; Ctrl-C first takes back what is typed", async () => {
      const question = "Which of these two colours should the northern wall of the house have?";
      await using asking = await startProviderServer({
        turns: [
          { calls: [{ name: "ask_human", args: { question, choices: ["Blue", "Red"] } }] },
          { calls: [{ name: "finish", args: { summary: "Red it is." } }] },
        ],
      });
      const main = `OLLAMA_BASE_URL='${asking.env.OLLAMA_BASE_URL}' '${process.execPath}' '${mainFile}'`;
      const asked = `${main} run 'Deep question' --model ollama/test --json >/dev/null 2>&1`;
      await pane.open(40, 40, `${asked}; ${main} resume deep`);
      await pane.shows("    2  Red");
      const screen = await pane.screen();
      const from = screen.findIndex((line) => line.startsWith("? coordinator asks:"));
      expect(screen.slice(from - 1, from + 5).map(stable)).toEqual([
        "continues with ollama/test",
        "? coordinator asks: Which of these two",
        "  colours should the northern wall of",
        "  the house have?",
        "    1  Blue",
        "    2  Red",
      ]);
      await pane.tmux("send-keys", "never mind");
      await pane.shows("never mind");
      await pane.tmux("send-keys", "C-c");
      await expect.poll(async () => (await pane.screen()).join("\n")).not.toContain("never mind");
      await pane.tmux("send-keys", "2", "Enter");
      await pane.ended();
      expect((await pane.screen()).at(-1)).toBe("exit code 0");
      expect(JSON.stringify(asking.requests.at(-1)?.body)).toContain("Red");
    });

    test("chat: the conversation above, a line to type below, and the agent goes on here when it is spoken to", async () => {
      await using talking = await startProviderServer({
        turns: [
          { calls: [{ name: "finish", args: { summary: "The house is blue." } }] },
          { text: "The fence I paint red.", calls: [{ name: "finish", args: { summary: "The fence is red." } }] },
        ],
      });
      const main = `OLLAMA_BASE_URL='${talking.env.OLLAMA_BASE_URL}' '${process.execPath}' '${mainFile}'`;
      const goal = `run 'Deep question' --model ollama/test --json`;
      await pane.open(100, 40, `${main} ${goal} >/dev/null 2>&1; ${main} chat deep`);
      await pane.shows("type to talk");
      await pane.tmux("send-keys", "Now the fence", "Enter");
      await pane.shows("The fence is red.");
      await pane.shows("deep-question · completed");
      await pane.tmux("send-keys", "/quit", "Enter");
      await pane.ended();
      expect((await pane.screen()).map(stable)).toEqual([
        "deep-question (ID)",
        "you         → Deep question",
        "coordinator » The house is blue.",
        "you         → Now the fence",
        "deep-question takes it as its next goal.",
        "coordinator » The fence I paint red.",
        "coordinator » The fence is red.",
        "exit code 0",
      ]);
      expect(await pane.tmux("display-message", "-p", "#{cursor_flag}")).toBe("1\n");
    });

    test("chat beside a process that is killed says that the agent was interrupted, and what a line will do", async () => {
      const env = { ...provider.env, AGIRAPH_HOME: join(folder.path, "home") };
      const words = ["run", "Deep question", "--model", "ollama/test"];
      const working = new CliProcess(words, { folder: folder.path, env });
      await provider.reached("thought");
      await pane.open(100, 40, `'${process.execPath}' '${mainFile}' chat deep`);
      const head = async () => (await pane.screen()).find((line) => line.startsWith("deep-question ·"));
      await expect.poll(head).toBe("deep-question · working");
      // The last thing that this chat has done there; from now on nothing happens that it could notice.
      const logs = () => agiraph(["logs", "deep"], { folder: folder.path, env });
      await expect.poll(async () => (await logs()).stdout).toMatch(/message\.received .*You read /);
      working.signal("SIGKILL");
      await working.ended;
      await expect.poll(head).toBe("deep-question · interrupted · continues when you write to it");
      await pane.tmux("send-keys", "/quit", "Enter");
      await pane.ended();
    });
  },
);

/** Long paths wrap in the terminal and differ on every machine. */
function withoutPaths(line: string): string {
  return line.startsWith("/") ? "PATH" : line;
}
