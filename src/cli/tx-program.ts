import { type Command, Option } from "commander";
import { MESSAGE_TYPES } from "../protocol/mesh.ts";
import { type ExitCode, UsageError } from "./exit-code.ts";
import type { Terminal } from "./live/terminal.ts";
import { baseProgram, packageRoot } from "./program-base.ts";
import type { TxCall } from "./tx/project.ts";

/** `tx`: meshes, as seed 004 names it. What a command does is loaded only when it is called. */
export function createTx(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = baseProgram(terminal, "tx")
    .description("Meshes: declared teams of agents in a project, whose messages are files.")
    .option("--project <dir>", "the folder with meshes/ in it (TX_PROJECT; else the nearest above)")
    .option("--as <mesh/agent>", "who speaks (TX_MESH and TX_AGENT, in a session)");
  const does =
    (work: (call: TxCall, ...args: never[]) => Promise<ExitCode>) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.pop() as Command;
      const options = command.optsWithGlobals<{ home?: string; json?: boolean; project?: string; as?: string }>();
      const { home, json = false, project, as } = options;
      end(
        await work(
          { terminal, home, json, packageRoot, project, speaker: speakerOf(terminal, as) },
          ...(given as never[]),
        ),
      );
    };

  program
    .command("init")
    .description(
      "put ready meshes into this folder: research, review, plan-build-test, tour (the demo); nothing is overwritten",
    )
    .argument("[mesh...]", "all if left out")
    .action(does(async (call, meshes: string[]) => (await import("./tx/init.ts")).init(call, meshes)));
  program
    .command("start")
    .description("have the server of the home run the meshes of this project; starts one where none runs")
    .action(does(async (call) => (await import("./tx/start.ts")).start(call)));
  program
    .command("stop")
    .description("stop the meshes of this project and all that runs for them; messages stay, tx start goes on")
    .action(does(async (call) => (await import("./tx/start.ts")).stop(call)));
  program
    .command("status")
    .description("meshes, their agents, and what is in their queues")
    .argument("[mesh]")
    .action(does(async (call, mesh?: string) => (await import("./tx/status.ts")).status(call, mesh)));
  program
    .command("trust")
    .description("agree to what a mesh of this project consists of now; nothing of it runs before")
    .argument("[mesh...]", "all that are not trusted if left out")
    .option("--terminals", "its agents may run in terminals: outside the sandbox, with your rights")
    .option("--yes", "do not ask: you have read its files")
    .option("--list", "show what is trusted, in all projects")
    .action(
      does(async (call, meshes: string[], options: object) =>
        (await import("./tx/trust.ts")).trust(call, meshes, options),
      ),
    );
  program
    .command("untrust")
    .description("do not trust a mesh any more: what it has begun ends, its messages stay")
    .argument("<mesh>")
    .action(does(async (call, mesh: string) => (await import("./tx/trust.ts")).untrust(call, mesh)));
  program
    .command("spawn")
    .description("begin the session of an agent, or of all agents of a mesh")
    .argument("<mesh>")
    .argument("[agent]")
    .option("--init <task>", "give it this task")
    .action(
      does(async (call, mesh: string, agent: string | undefined, options: { init?: string }) =>
        (await import("./tx/sessions.ts")).spawnSessions(call, mesh, agent, options),
      ),
    );
  program
    .command("attach")
    .description("sit down before an agent's terminal; Ctrl-b d leaves it")
    .argument("[mesh]")
    .argument("[agent]")
    .action(
      does(async (call, mesh?: string, agent?: string) => (await import("./tx/sessions.ts")).attach(call, mesh, agent)),
    );
  program
    .command("kill")
    .description("end the session of an agent, or of all agents of a mesh; their messages stay")
    .argument("<mesh>")
    .argument("[agent]")
    .action(
      does(async (call, mesh: string, agent?: string) => (await import("./tx/sessions.ts")).kill(call, mesh, agent)),
    );
  program
    .command("prompt")
    .description("what an agent is told when it begins, section by section")
    .argument("<mesh>")
    .argument("[agent]")
    .action(
      does(async (call, mesh: string, agent?: string) => (await import("./tx/prompt.ts")).prompt(call, mesh, agent)),
    );
  program
    .command("send")
    .description("write a message to a mesh or an agent: a task, unless told otherwise")
    .argument("<to>", "mesh, mesh/agent, or in a session an agent of the same mesh")
    .argument("<text>", "what to say; - reads it from stdin")
    .addOption(new Option("--type <type>", "what kind of message").choices(MESSAGE_TYPES))
    .option("--answer <message>", "it answers this question")
    .action(
      does(async (call, to: string, text: string, options: object) =>
        (await import("./tx/messages.ts")).send(call, to, text, options),
      ),
    );
  program
    .command("done")
    .description("in a session: the current task is done; say what you did")
    .argument("[words...]", "what you did and where it is; - reads it from stdin")
    .option("--failed", "it cannot be done; say why")
    .action(
      does(async (call, words: string[], options: object) =>
        (await import("./tx/messages.ts")).done(call, words, options),
      ),
    );
  program
    .command("next")
    .description("in a session: the task to work on")
    .action(does(async (call) => (await import("./tx/messages.ts")).next(call)));
  program
    .command("ask")
    .description("ask an agent, or human; the answer comes to you")
    .argument("<to>", "an agent of the same mesh, mesh/agent, or human")
    .argument("<question>", "what you want to know; - reads it from stdin")
    .option("--wait", "wait for the answer and print it")
    .action(
      does(async (call, to: string, question: string, options: object) =>
        (await import("./tx/messages.ts")).ask(call, to, question, options),
      ),
    );
  program
    .command("archive")
    .description("move what a mesh and its agents have completed out of the way, to archive/")
    .argument("<mesh>")
    .option("--days <n>", "only what has been complete for so many days", "7")
    .action(
      does(async (call, mesh: string, options: { days: string }) =>
        (await import("./tx/archive.ts")).archive(call, mesh, options),
      ),
    );
  program
    .command("completion")
    .description("print a completion script for a shell: commands, meshes and agents")
    .argument("<shell>", "bash, zsh or fish")
    .action(
      does(async (call, shell: string) => (await import("./commands/completion.ts")).completion(call, shell, program)),
    );
  program
    .command("names", { hidden: true })
    .argument("[words...]")
    .action(does(async (call, words: string[]) => (await import("./tx/names.ts")).names(call, words)));
  for (const command of program.commands)
    command.showHelpAfterError(`\`tx ${command.name()} --help\` shows how it is meant.`);
  return program;
}

function speakerOf({ env }: Terminal, as: string | undefined): TxCall["speaker"] {
  const word = as ?? (env.TX_MESH && env.TX_AGENT ? `${env.TX_MESH}/${env.TX_AGENT}` : undefined);
  if (word === undefined) return undefined;
  const [mesh = "", agent = "", ...more] = word.split("/");
  if (mesh === "" || agent === "" || more.length > 0) throw new UsageError(`--as "${word}": expected mesh/agent.`);
  return { mesh, agent };
}
