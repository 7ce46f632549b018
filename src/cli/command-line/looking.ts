import type { CommandGroup } from "./command-spec.ts";
import { AGENT } from "./common-help.ts";
import { factNumber, list, since } from "./option-values.ts";

export const LOOKING: CommandGroup = {
  title: "Look",
  commands: [
    {
      name: "ls",
      description: "list the agents of this home",
      options: [["--all", "also those that were removed with `rm`"]],
      examples: ["ls", "ls --all --json"],
      run: async (call, options: object) => (await import("../commands/ls.ts")).ls(call, options),
    },
    {
      name: "status",
      description: "this home at a glance: its process, how its agents are doing, what waits for you",
      examples: ["status"],
      run: async (call) => (await import("../commands/status.ts")).status(call),
    },
    {
      name: "show",
      description: "everything about an agent on one page",
      args: [AGENT],
      examples: ["show survey"],
      run: async (call, agent: string) => (await import("../commands/show.ts")).show(call, agent),
    },
    {
      name: "board",
      description: "the work of an agent, node by node",
      args: [AGENT],
      examples: ["board survey"],
      run: async (call, agent: string) => (await import("../commands/board.ts")).board(call, agent),
    },
    {
      name: "workers",
      description: "the workers of an agent",
      args: [AGENT],
      examples: ["workers survey"],
      run: async (call, agent: string) => (await import("../commands/workers.ts")).workers(call, agent),
    },
    {
      name: "open",
      description: "open the result of the last run, or print its path",
      args: [AGENT],
      examples: ["open survey"],
      run: async (call, agent: string) => (await import("../commands/open.ts")).open(call, agent),
    },
    {
      name: "files",
      description: "the files of the last run, or the content of one",
      args: [AGENT, ["[path]", "as `files` lists it"]],
      examples: ["files survey", "files survey nodes/node-1/published/report.md"],
      run: async (call, agent: string, path: string | undefined) =>
        (await import("../commands/files.ts")).files(call, agent, path),
    },
    {
      name: "logs",
      description: "what happened, one fact per line",
      args: [AGENT],
      options: [
        ["-f, --follow", "keep printing what happens from now on"],
        ["--after <seq>", "only facts after this number", factNumber],
        ["-n, --limit <number>", "only this many, the newest", factNumber],
        ["--worker <name>", "only facts about this worker; coordinator and human count as workers"],
        ["--node <node>", "only facts about this node, e.g. node-3"],
        ["--type <kinds>", "only these kinds, or all of a group: node.failed,tool", list],
        ["--since <time>", "only facts since then: 30s, 10m, 2h, 1d ago, or a time like 2026-05-01T09:00", since],
      ],
      examples: ["logs survey --follow", "logs survey --type node,tool --worker Alice --since 10m"],
      run: async (call, agent: string, options: object) =>
        (await import("../commands/logs.ts")).logs(call, agent, options),
    },
    {
      name: "memory",
      description: "what an agent remembers, or what it remembers about something",
      args: [
        ["[agent]", AGENT[1]],
        ["[query...]", "words to search for; matched by their stems, best first"],
      ],
      options: [
        ["--person", "what all your agents share about you (config.json: memory.shared), instead of an agent's"],
        ["--path <file>", "show this file, as `memory` lists it"],
        ["--history <file>", "the earlier versions of this file that are kept"],
        ["--undo <file>", "restore the version of this file before its last replacement (repeat to undo)"],
        ["--limit <n>", "this many sections, at most 100; by default about three pages of them"],
      ],
      examples: ["memory survey", "memory survey lighthouse", "memory survey --path MEMORY.md"],
      run: async (call, agent: string | undefined, query: string[], options: object) =>
        (await import("../commands/memory.ts")).memory(call, agent, query, options),
    },
    {
      name: "triggers",
      description: "what an agent will do later, and when",
      args: [AGENT],
      options: [
        ["--all", "also those that ended"],
        ["--add <json>", "a new one: {type, config, action, time_zone?, missed?}"],
        ["--cancel <id>", "end it: it never fires again"],
        ["--pause <id>", "it does not fire until it is resumed"],
        ["--resume <id>", "a paused one fires again from now on"],
      ],
      examples: [
        "triggers survey",
        `triggers survey --add '{"type": "delayed", "config": {"delay_seconds": 3600}, "action": "Look again"}'`,
      ],
      run: async (call, agent: string, options: object) =>
        (await import("../commands/triggers.ts")).triggers(call, agent, options),
    },
  ],
};
