import type { Command } from "commander";
import { baseCommand, packageRoot } from "./base-command.ts";
import { addCommands, type CommandSpec, EXIT_CODES, examplesText } from "./command-line/command-spec.ts";
import { txCommands } from "./command-line/tx-commands.ts";
import { type ExitCode, UsageError } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";
import type { TxCall } from "./tx/project.ts";

/** `tx`: meshes, as seed 004 names it. */
export function createTx(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = baseCommand(terminal, "tx")
    .description("Meshes: declared teams of agents in a project, whose messages are files.")
    .option("--project <dir>", "the folder that contains meshes/ (default: TX_PROJECT, else the nearest folder above)")
    .option("--as <mesh/agent>", "the agent that speaks (in a session: TX_MESH and TX_AGENT)");
  const perform = async (run: CommandSpec<TxCall>["run"], command: Command, given: unknown[]): Promise<void> => {
    const options = command.optsWithGlobals<{ home?: string; json?: boolean; project?: string; as?: string }>();
    const { home, json = false, project, as } = options;
    const call = { terminal, home, json, packageRoot, project, speaker: speakerOf(terminal, as) };
    end(await run(call, ...(given as never[])));
  };
  addCommands(program, txCommands(program), { calledAs: "tx", perform });
  program.addHelpText("after", examplesText("tx", EXAMPLES) + EXIT_CODES);
  return program;
}

const EXAMPLES = ["init tour", "trust tour", "start", 'send tour "Count"', "status"];

function speakerOf({ env }: Terminal, as: string | undefined): TxCall["speaker"] {
  const word = as ?? (env.TX_MESH && env.TX_AGENT ? `${env.TX_MESH}/${env.TX_AGENT}` : undefined);
  if (word === undefined) return undefined;
  const [mesh = "", agent = "", ...more] = word.split("/");
  if (mesh === "" || agent === "" || more.length > 0) throw new UsageError(`--as "${word}": expected mesh/agent.`);
  return { mesh, agent };
}
