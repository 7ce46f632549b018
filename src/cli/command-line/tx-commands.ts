import type { Command } from "commander";
import { MESSAGE_TYPES } from "../../protocol/mesh.ts";
import type { TxCall } from "../tx/project.ts";
import type { CommandGroup } from "./command-spec.ts";
import { completionOf } from "./installation.ts";
import { factNumber } from "./option-values.ts";

export const txCommands = (program: Command): readonly CommandGroup<TxCall>[] => [
  SETTING_UP,
  MESSAGES,
  SESSIONS,
  {
    title: "Other",
    commands: [
      {
        name: "archive",
        description: "move the completed messages of a mesh and its agents to archive/",
        args: [["<mesh>"]],
        options: [["--days <n>", "only those that have been complete for this many days (default 7)"]],
        examples: ["archive review --days 30"],
        run: async (call, mesh: string, options: { days?: string }) =>
          (await import("../tx/archive.ts")).archive(call, mesh, options),
      },
      completionOf(program, "print a completion script for a shell: commands, meshes and agents"),
      {
        name: "names",
        description: "for completion: what can come next",
        isHidden: true,
        args: [["[words...]"]],
        run: async (call, words: string[]) => (await import("../tx/names.ts")).names(call, words),
      },
    ],
  },
];

const SETTING_UP: CommandGroup<TxCall> = {
  title: "Set up",
  commands: [
    {
      name: "init",
      description:
        "copy bundled meshes into this folder: research, review, plan-build-test, tour (the demo); overwrites nothing",
      args: [["[mesh...]", "by default all of them"]],
      options: [["--gitignore", "add .ai/, where meshes work, to the .gitignore of this folder"]],
      examples: ["init tour", "init review --gitignore"],
      run: async (call, meshes: string[], options: object) =>
        (await import("../tx/init.ts")).init(call, meshes, options),
    },
    {
      name: "trust",
      description: "trust the current content of a mesh of this project; none of it runs before you do",
      args: [["[mesh...]", "by default all that are not trusted"]],
      options: [
        ["--terminals", "its agents may run in terminals: outside the sandbox, with your rights"],
        ["--yes", "do not ask: you have read its files"],
        ["--list", "show what is trusted, in all projects"],
      ],
      examples: ["trust review", "trust --list"],
      run: async (call, meshes: string[], options: object) =>
        (await import("../tx/trust.ts")).trust(call, meshes, options),
    },
    {
      name: "untrust",
      description: "stop trusting a mesh: everything it has started ends, its messages stay",
      args: [["<mesh>"]],
      examples: ["untrust review"],
      run: async (call, mesh: string) => (await import("../tx/trust.ts")).untrust(call, mesh),
    },
    {
      name: "start",
      description: "run the meshes of this project in the server of the home; starts a server if none runs",
      examples: ["start"],
      run: async (call) => (await import("../tx/start.ts")).start(call),
    },
    {
      name: "stop",
      description: "stop the meshes of this project and everything that runs for them; messages stay",
      options: [["--server", "stop the server of the home too, with everything that it runs"]],
      examples: ["stop", "stop --server"],
      run: async (call, options: object) => (await import("../tx/start.ts")).stop(call, options),
    },
    {
      name: "status",
      description: "meshes, their agents, and what is in their queues",
      args: [["[mesh]"]],
      examples: ["status review"],
      run: async (call, mesh?: string) => (await import("../tx/status.ts")).status(call, mesh),
    },
  ],
};

const MESSAGES: CommandGroup<TxCall> = {
  title: "Messages",
  commands: [
    {
      name: "send",
      description: "send a message to a mesh or an agent: a task, unless --type says otherwise",
      args: [
        ["<to>", "mesh, mesh/agent, or in a session an agent of the same mesh"],
        ["<text>", "what to say; - reads it from stdin"],
      ],
      lastIsText: "message",
      options: [
        ["--type <type>", "what kind of message", MESSAGE_TYPES],
        ["--answer <message>", "the question that it answers"],
        ["--wait", "wait until the task has ended and print its result; the exit code is 1 if it failed"],
      ],
      examples: ['send review "Review the last commit" --wait', 'send review/reviewer "Look at the tests too"'],
      run: async (call, to: string, text: string, options: object) =>
        (await import("../tx/messages.ts")).send(call, to, text, options),
    },
    {
      name: "result",
      description:
        "print the result of a task: the last one of a mesh or an agent, or the named one; exit code 1 if it failed",
      args: [
        ["<to>", "mesh or mesh/agent"],
        ["[task]", "the name of its message"],
      ],
      examples: ["result review"],
      run: async (call, to: string, task?: string) => (await import("../tx/results.ts")).result(call, to, task),
    },
    {
      name: "chat",
      description: "talk to a mesh: each line is a task, and its result is printed; Ctrl-D ends it",
      args: [["<to>", "mesh or mesh/agent"]],
      examples: ["chat review"],
      run: async (call, to: string) => (await import("../tx/chat.ts")).chat(call, to),
    },
    {
      name: "log",
      description: "messages between people, meshes and agents, each with its outcome",
      args: [["[mesh]"]],
      options: [
        ["-f, --follow", "keep printing new messages"],
        ["-n, --limit <number>", "how many of the latest messages to print (default 50)", factNumber],
      ],
      examples: ["log review -f"],
      run: async (call, mesh: string | undefined, options: object) =>
        (await import("../tx/log.ts")).log(call, mesh, options),
    },
    {
      name: "watch",
      description: "send lines that are added to a file to a mesh, as tasks, until Ctrl-C",
      args: [
        ["<file>", "a file that grows, such as a log"],
        ["<to>", "mesh or mesh/agent"],
      ],
      options: [
        ["--task <text>", "what to do with the new lines"],
        ["--from-start", "begin with what is already in the file"],
      ],
      examples: ['watch server.log review --task "Find out what went wrong"'],
      run: async (call, file: string, to: string, options: object) =>
        (await import("../tx/watch.ts")).watchFile(call, file, to, options),
    },
    {
      name: "stats",
      description: "how many tasks meshes and agents have done, how long they took, and what failed",
      args: [["[mesh]"]],
      examples: ["stats review"],
      run: async (call, mesh?: string) => (await import("../tx/stats.ts")).stats(call, mesh),
    },
    {
      name: "ask",
      description: "ask an agent, or human; the answer is sent to you",
      args: [
        ["<to>", "an agent of the same mesh, mesh/agent, or human"],
        ["<question>", "what you want to know; - reads it from stdin"],
      ],
      options: [["--wait", "wait for the answer and print it"]],
      examples: ['ask human "Which database?" --wait'],
      run: async (call, to: string, question: string, options: object) =>
        (await import("../tx/messages.ts")).ask(call, to, question, options),
    },
    {
      name: "done",
      description: "in a session: the current task is done; say what you did",
      args: [["[words...]", "what you did and where it is; - reads it from stdin"]],
      options: [["--failed", "it cannot be done; say why"]],
      examples: ['done "Wrote report.md"', 'done --failed "The build needs a key"'],
      run: async (call, words: string[], options: object) =>
        (await import("../tx/messages.ts")).done(call, words, options),
    },
    {
      name: "next",
      description: "in a session: show the task to work on",
      examples: ["next"],
      run: async (call) => (await import("../tx/messages.ts")).next(call),
    },
  ],
};

const SESSIONS: CommandGroup<TxCall> = {
  title: "Sessions",
  commands: [
    {
      name: "spawn",
      description: "start the session of an agent, or of all agents of a mesh",
      args: [["<mesh>"], ["[agent]"]],
      options: [["--init <task>", "give it this task"]],
      examples: ["spawn review", 'spawn review reviewer --init "Review the last commit"'],
      run: async (call, mesh: string, agent: string | undefined, options: { init?: string }) =>
        (await import("../tx/sessions.ts")).spawnSessions(call, mesh, agent, options),
    },
    {
      name: "attach",
      description: "attach to the terminal of an agent; Ctrl-b d detaches",
      args: [["[mesh]"], ["[agent]"]],
      examples: ["attach review reviewer"],
      run: async (call, mesh?: string, agent?: string) => (await import("../tx/sessions.ts")).attach(call, mesh, agent),
    },
    {
      name: "kill",
      description: "end the session of an agent, or of all agents of a mesh; their messages stay",
      args: [["<mesh>"], ["[agent]"]],
      examples: ["kill review reviewer"],
      run: async (call, mesh: string, agent?: string) => (await import("../tx/sessions.ts")).kill(call, mesh, agent),
    },
    {
      name: "prompt",
      description: "the prompt that an agent would start with now, section by section",
      args: [["<mesh>"], ["[agent]"]],
      examples: ["prompt review reviewer"],
      run: async (call, mesh: string, agent?: string) => (await import("../tx/prompt.ts")).prompt(call, mesh, agent),
    },
  ],
};
