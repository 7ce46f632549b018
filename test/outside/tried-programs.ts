import { test as plainTest } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { call, type ProviderRequest, type ProviderTurn, script } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/* Every kind of program: the real ones with scripted models behind them, and a plain shell script. */

export const TASK = "Write it down.";

export interface Tried {
  test: typeof plainTest | typeof plainTest.skip;
  model?: string;
  profile(url: string, command: string): ProgramProfile;
  /** The turns of its model, if it has one: it runs the command, then publishes. */
  turns(command: string): ProviderTurn[];
}

export const PROGRAMS: Record<string, Tried> = {
  ...Object.fromEntries(
    Object.entries(realPrograms).map(([name, program]) => [
      name,
      {
        test: whenInstalled(...program.files),
        ...(program.model && { model: program.model }),
        profile: (url: string) => program.profile(url),
        turns: (command: string) => [program.shell(command), program.ours("publish", { summary: "It is written." })],
      },
    ]),
  ),
  plain: {
    test: skipped ? plainTest.skip : plainTest,
    profile: (_url, command) => ({
      kind: "autonomous",
      command: ["bash", "-c", `${command}\necho 'It is written.' > _result.md`],
    }),
    turns: () => [],
  },
};

/** One step after the other, by how many calls its model has made; side questions of a program get a word. */
export function steps(turns: readonly ProviderTurn[], seen: ProviderRequest[] = []) {
  return (request: ProviderRequest): ProviderTurn => {
    if (!JSON.stringify(request.body).includes(TASK)) return { text: "A title" };
    seen.push(request);
    const made = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
    return turns[made.length] ?? { text: "Done." };
  };
}

export function hiring(program: string, { model }: Tried) {
  return script(
    call("spawn_worker", { name: "Cody", program, ...(model && { model }) }),
    call("create_work_node", { task: TASK, worker: "Cody" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}
