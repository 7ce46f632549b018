import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { ProviderTurns } from "../../testing/provider-script.ts";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.ts";
import type { ProviderTurn } from "../../testing/provider-turn.ts";
import { type TemporaryHome, temporaryHome } from "../../testing/temporary-home.ts";
import { agiraph, type CliOptions, CliProcess, type Ended } from "./cli-process.ts";

export const GOAL = "Paint the house";
export const askHuman = (args: object): ProviderTurn => ({ calls: [{ name: "ask_human", args }] });
export const finish = (summary: string): ProviderTurn => ({ calls: [{ name: "finish", args: { summary } }] });

/** A separate home for each test, with an agent `paint-house` whose model follows the test's script. */
export function scriptedAgent() {
  let folder: TemporaryHome;
  let provider: ProviderServer;
  beforeEach(async () => {
    folder = await temporaryHome();
  });
  afterEach(async () => {
    await provider.close();
    await folder.remove();
  });
  const options = (): CliOptions => ({
    folder: folder.path,
    env: { ...provider.env, AGIRAPH_HOME: join(folder.path, "home") },
  });
  const call = (...words: string[]) => agiraph(words, options());
  return {
    async scripted(turns: ProviderTurns): Promise<ProviderServer> {
      provider = await startProviderServer({ turns });
      return provider;
    },
    options,
    call,
    run: (...more: string[]) => call("run", GOAL, "--model", "ollama/test", ...more),
    start: (...more: string[]) => new CliProcess(["run", GOAL, "--model", "ollama/test", ...more], options()),
    async standing(): Promise<string[]> {
      const { stdout } = await call("ls", "--json");
      return stdout
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line).status);
    },
  };
}

/** The lines on stderr, with ids and times masked so that they are the same on every run. */
export function lines({ stderr }: Ended): string[] {
  return stderr
    .trimEnd()
    .replace(/agent-\w{8}/g, "ID")
    .replace(/\d:\d\d/g, "M:SS")
    .split("\n");
}
