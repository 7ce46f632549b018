import { type CommandGroup, EXIT_CODES } from "./command-spec.ts";
import { AGENT, DETACH, MODEL_VARIABLES, UNSAFE } from "./common-help.ts";
import { agentName, dollars, durationOption, list, tokenCount } from "./option-values.ts";

export const STEERING: CommandGroup = {
  title: "Run and steer",
  commands: [
    {
      name: "run",
      description: "create an agent for a goal and watch its team work until it ends",
      args: [["<goal>", "what to achieve, in plain words; - reads it from stdin"]],
      lastIsText: "goal",
      options: [
        ["--model <provider/model>", "the model that thinks (AGIRAPH_MODEL)"],
        ["--worker-model <provider/model>", "the workers' model (AGIRAPH_WORKER_MODEL); by default the same"],
        ["--mode <mode>", "finite: ends when the goal is reached; infinite: keeps going", ["finite", "infinite"]],
        ["--every <duration>", "how long an infinite agent sleeps between cycles: 30s, 10m, 2h, 1d", durationOption],
        [
          "--watch <what>",
          'wake an infinite agent only when this changes: a path or "cmd: a command" (checked every minute), or a URL (every 5 minutes); --every changes that',
        ],
        ["--name <name>", "what to call it; by default the first words of the goal", agentName],
        ["--budget <usd>", "stop calling models once this much is spent", dollars],
        ["--tools <names>", "the only tools the team may use: read_file,web_fetch; by default all", list],
        ["--project <dir>", "the folder the team may read; by default the current directory"],
        ["--write", "let the team change this git repository: on a branch of its own, which you review and accept"],
        ["--no-write", "only let it read, although config.json says that new agents may change the repository"],
        ["--base <ref>", "with --write: the branch, tag or commit that its branch begins at; by default HEAD"],
        [
          "--dirty <how>",
          "with --write: what to do with your uncommitted changes; by default they are not seen",
          ["include"],
        ],
        [
          "--deliver <how>",
          "with --write: at the end of a run, put the branch into your repository unasked",
          ["branch"],
        ],
        ["--detach", "run it in the background"],
        UNSAFE,
      ],
      examples: [
        'run "Survey the files in ./docs and write a report" --name survey',
        'run "Compare the three designs in ./designs" --model openai/gpt-5 --budget 2',
        'run "Fix the flaky tests" --write --name fix-tests',
        'run "Report news about us" --mode infinite --every 30m --detach',
      ],
      notes: EXIT_CODES + MODEL_VARIABLES,
      run: async (call, goal: string, options: object) => (await import("../commands/run.ts")).run(call, goal, options),
    },
    {
      name: "resume",
      description:
        "continue an agent that was stopped, failed or was interrupted; one that is done waits for its triggers again",
      args: [AGENT],
      options: [
        ["--model <provider/model>", "continue with another model (AGIRAPH_MODEL)"],
        ["--worker-model <provider/model>", "and another one for the workers (AGIRAPH_WORKER_MODEL)"],
        ["--budget <usd>", "the new limit for everything it spends, in all", dollars],
        ["--budget-tokens <number>", "the new limit for the tokens it uses, in all", tokenCount],
        ["--detach", "run it in the background"],
        UNSAFE,
      ],
      examples: ["resume survey", "resume survey --model openai/gpt-5 --budget 5"],
      notes: EXIT_CODES,
      run: async (call, agent: string, options: object) =>
        (await import("../commands/resume.ts")).resume(call, agent, options),
    },
    {
      name: "stop",
      description: "stop an agent; what was said and done is kept",
      args: [AGENT],
      examples: ["stop survey"],
      run: async (call, agent: string) => (await import("../commands/stop.ts")).stop(call, agent),
    },
    {
      name: "pause",
      description: "pause an agent until it is resumed",
      args: [AGENT],
      examples: ["pause survey"],
      run: async (call, agent: string) => (await import("../commands/stop.ts")).pause(call, agent),
    },
    {
      name: "rm",
      description: "stop an agent and hide it; nothing is erased, except with --purge",
      args: [AGENT],
      options: [
        ["--undo", "restore it"],
        ["--purge", "erase it for good, with all its files; asks first"],
        ["--yes", "with --purge: do not ask"],
      ],
      examples: ["rm survey", "rm survey --undo"],
      run: async (call, agent: string, options: object) => (await import("../commands/rm.ts")).rm(call, agent, options),
    },
  ],
};

export const CHANGING_WORK: CommandGroup = {
  title: "Change the work",
  commands: [
    {
      name: "assign",
      description: "give a node to another worker, to a program, or to `human`; its files stay, its worker is stopped",
      args: [
        AGENT,
        ["<node>", "as `board` lists it, e.g. node-3"],
        ["<worker>", "the name of a worker, a program such as codex, or human"],
      ],
      examples: ["assign survey node-3 Bob", "assign survey node-3 human", "assign survey node-3 codex"],
      run: async (call, agent: string, node: string, worker: string) =>
        (await import("../commands/speak.ts")).assign(call, agent, node, worker),
    },
    {
      name: "publish",
      description: "publish a node that was given to you: the files in its scratch folder",
      args: [AGENT, ["<node>", "as `inbox` lists it, e.g. node-3"]],
      options: [["--summary <text>", "what you did, in a few words; - reads it from stdin"], DETACH],
      examples: ['publish survey node-3 --summary "Wrote it by hand"'],
      run: async (call, agent: string, node: string, options: object) =>
        (await import("../commands/speak.ts")).publish(call, agent, node, options),
    },
    {
      name: "cancel",
      description: "end a node that is no longer needed; its worker is stopped, its files stay",
      args: [
        AGENT,
        ["<node>", "as `board` lists it, e.g. node-3"],
        ["[reason]", "why, for the team; - reads it from stdin"],
      ],
      lastIsText: "reason",
      examples: ['cancel survey node-4 "no longer needed"'],
      run: async (call, agent: string, node: string, reason?: string) =>
        (await import("../commands/speak.ts")).cancel(call, agent, node, reason),
    },
  ],
};
