import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { tmuxSocket } from "../../src/mesh/terminal/tmux-server.ts";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { MESH_RUN } from "../../src/runtime/meshes/mesh-record.ts";
import { programHome } from "../../src/store/paths.ts";
import {
  type ProviderRequest,
  type ProviderServer,
  type ProviderTurn,
  startProviderServer,
} from "../../src/testing/index.ts";
import { whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { OTHER_PROGRAMS, type OtherProgram } from "./other-programs.ts";
import { withTmux } from "./terminals.ts";

/**
 * The real Codex, Gemini and opencode in real terminals, each with a scripted model behind it. Where one is not installed
 * (CI has Claude Code alone) its tests are skipped and say so; `AGIRAPH_AGENTS_DIR` says where they are.
 */
const LONG = { timeout: 240_000 };

for (const [name, program] of Object.entries(OTHER_PROGRAMS) as [keyof typeof OTHER_PROGRAMS, OtherProgram][]) {
  const withProgram = withTmux === test ? whenInstalled(...program.file) : test.skip;

  withProgram(
    `${name}: what is said arrives once and whole, also while it works, and it ends its task`,
    LONG,
    async () => {
      await using scene = await Scene.open(name, program, (heard) => {
        if (heard.includes("HOLD")) return { text: "Holding.", holdMidway: "hold" };
        return heard.includes("END") ? { calls: [program.shell('tx done "It is done."')] } : undefined;
      });
      const { house, provider } = scene;
      const texts = [
        "One, in a line?",
        "Über «Σίσυφος», 漢字, 🎉 and e\u0301.\n\n    indented 'quotes' \"$HOME\" `x` #{pane} \\n\n- the last of some lines 2",
        `Three: ${"a long line ".repeat(100)}to its end`,
        Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n"),
      ];
      for (const text of texts) await scene.ask(text);
      await scene.ask("HOLD on");
      await provider.reached("hold");
      await house.until(({ type, data }) => type === "mesh.session" && data.state === "busy");
      await scene.ask("While you work:\nthis");
      provider.release("hold");
      await house.send("line", { text: "# END it\n" });
      expect(await house.completed("line")).toMatchObject({ data: { gist: "It is done." } });
      const heard = scene.heard();
      for (const text of [...texts, "While you work:\nthis"])
        expect([text, heard.split(squeezed(text)).length - 1]).toEqual([text, 1]);
      expect(await house.facts("mesh.undelivered")).toEqual([]);
    },
  );

  withProgram(
    `${name}: nothing is typed into its dialog; a person answers, and it goes on; its death is seen`,
    LONG,
    async () => {
      await using scene = await Scene.open(name, program, (heard) =>
        heard.includes("MAKE") ? { calls: [program.asks("touch made.txt")] } : undefined,
      );
      const { house } = scene;
      await house.send("line", { to: "coder", type: "ask", text: "MAKE it\n" });
      await house.until(({ type, data }) => type === "mesh.session" && data.state === "dialog");
      const screen = scene.screen();
      await house.send("line", { to: "coder", type: "ask", text: "1 y n Are you there?\n" });
      await house.until(({ type, data }) => type === "mesh.received" && data.title.startsWith("1 y n"));
      // Whoever types does so within the round in which it is told: the screen would be another, and the file there.
      await house.until(({ type, data }) => type === "mesh.session" && data.state === "dialog");
      expect([existsSync(join(house.project, "made.txt")), scene.screen()]).toEqual([false, screen]);
      expect((await house.facts("mesh.told")).length).toBe(1);
      // A fresh dialog swallows keys.
      await vi.waitFor(
        () => {
          if (!existsSync(join(house.project, "made.txt"))) scene.press(program.yes);
          expect(existsSync(join(house.project, "made.txt"))).toBe(true);
        },
        { timeout: 120_000, interval: 500 },
      );
      let told = 0;
      await house.until(({ type }) => type === "mesh.told" && ++told === 2);
      await vi.waitFor(() => expect(scene.heard()).toContain(squeezed("1 y n Are you there?")), { timeout: 120_000 });
      process.kill(scene.pid(), "SIGKILL");
      await house.until(({ type, data }) => type === "mesh.session" && data.state === "dead");
    },
  );

  withProgram(
    `TMUX-MEMBER-6: ${name} that ends its turn without tx done is reminded, and ends its task`,
    LONG,
    async () => {
      await using scene = await Scene.open(name, program, (heard) =>
        heard.includes("[tx] Reminder 1 of 3: your task")
          ? { calls: [program.shell('tx done "Really done."')] }
          : undefined,
      );
      await scene.house.send("line", { text: "# Work\n" });
      expect((await scene.house.completed("line")).data).toMatchObject({ gist: "Really done." });
    },
  );

  withProgram(`TMUX-MEMBER-5: ${name} that is killed goes on with its conversation and its task`, LONG, async () => {
    const runs = "touch begun; sleep 1000";
    await using scene = await Scene.open(
      name,
      program,
      (heard) => {
        if (heard.includes("was started again with this conversation"))
          return { calls: [program.shell('tx done "After all."')] };
        if (heard.includes("WORD")) return { text: "It is kumquat." };
        return heard.includes("# Work") ? { calls: [program.shell(runs)] } : undefined;
      },
      { permissions: "allow" },
    );
    const { house } = scene;
    await scene.ask("Which WORD?");
    await expect.poll(() => scene.kept("It is kumquat."), { timeout: 120_000 }).toBe(true);
    await house.send("line", { text: "# Work\n" });
    await expect.poll(() => existsSync(join(house.project, "begun")), { timeout: 120_000 }).toBe(true);
    process.kill(scene.pid(), "SIGKILL");
    expect((await house.completed("line")).data).toMatchObject({ gist: "After all." });
    const isAgain = ({ body }: ProviderRequest) => JSON.stringify(body).includes("was started again");
    expect(JSON.stringify(scene.provider.requests.find(isAgain)?.body)).toContain("It is kumquat.");
    const starts = (await house.facts("mesh.session")).filter(({ state }) => state === "starting");
    expect(starts).toHaveLength(2);
  });
}

/** One agent of this kind, before a model that says what it is told to say, once for each word it hears. */
class Scene implements AsyncDisposable {
  readonly house: MeshHouse;
  readonly provider: ProviderServer;
  readonly #shell: string;
  #asked = 0;

  private constructor(house: MeshHouse, provider: ProviderServer, shell: string) {
    this.house = house;
    this.provider = provider;
    this.#shell = shell;
  }

  static async open(
    name: string,
    { profile, model, shellTool }: OtherProgram,
    says: (heard: string) => ProviderTurn | undefined,
    more: Partial<ProgramProfile> = {},
  ): Promise<Scene> {
    const provider = await startProviderServer({
      respond: (request) => {
        const last = request.messages.at(-1);
        const isWork = request.tools.includes(shellTool) && last?.role === "user";
        return (isWork ? says(last.text) : undefined) ?? { text: "Well." };
      },
    });
    const house = new MeshHouse({
      meshes: [{ mesh: "line", type: "persistent", agents: ["x/coder"] }],
      agents: { coder: { options: { program: name, runs: "tmux", ...(model !== null && { model }) } } },
      config: { programs: { [name]: { ...profile(provider.url), ...more } } },
    });
    return new Scene(await (await house.open()).start(), provider, shellTool);
  }

  /** Resolves when it has it before its eyes. */
  async ask(text: string): Promise<void> {
    const asked = ++this.#asked;
    await this.house.send("line", { to: "coder", type: "ask", text: `${text}\n` });
    let told = 0;
    await this.house.until(({ type, data }) => {
      if (type === "mesh.undelivered") throw new Error(`${data.why}\n${this.screen()}`);
      return type === "mesh.told" && ++told === asked;
    });
  }

  /** All that its model was told by the user in its conversation, without spaces. */
  heard(): string {
    const isWork = ({ tools }: ProviderRequest) => tools.includes(this.#shell);
    const { messages = [] } = this.provider.requests.findLast(isWork) ?? {};
    return squeezed(messages.map(({ role, text }) => (role === "user" ? text : "")).join("\n"));
  }

  /** Whether its program has these words on disk, wherever it keeps its conversation. */
  async kept(words: string): Promise<boolean> {
    const { log } = await this.house.runtime.agent(this.house.id);
    const home = programHome(log.dir, MESH_RUN, "line-coder");
    const entries = readdirSync(home, { recursive: true, withFileTypes: true });
    const files = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
    return files.some((file) => readIfThere(file).includes(words));
  }

  screen(): string {
    return this.#tmux("capture-pane", "-p", "-t", "=line-coder:");
  }

  press(key: string): void {
    this.#tmux("send-keys", "-t", "=line-coder:", key);
  }

  pid(): number {
    return Number(this.#tmux("list-panes", "-t", "=line-coder:", "-F", "#{pane_pid}"));
  }

  #tmux(...words: string[]): string {
    const { home, project } = this.house;
    return execFileSync("tmux", ["-S", tmuxSocket(home, project), ...words], { encoding: "utf8" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.house[Symbol.asyncDispose]();
    await this.provider.close();
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, "");
}
