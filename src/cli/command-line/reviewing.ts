import { type CommandGroup, EXIT_CODES } from "./command-spec.ts";
import { AGENT, DETACH } from "./common-help.ts";

const NODE = "as `board` lists it, e.g. node-3";

/** For agents that change the person's repository: `run --write`. */
export const REVIEWING: CommandGroup = {
  title: "Review a repository",
  commands: [
    {
      name: "diff",
      description: "what an agent has changed in your repository: all of it, or one node's work",
      args: [AGENT, ["[node]", NODE]],
      options: [
        ["--stat", "only the files, with the number of lines"],
        ["--patch", "the whole patch, however large, as `git apply` reads it"],
      ],
      examples: ["diff fix-tests", "diff fix-tests node-2", "diff fix-tests --patch > fix.patch"],
      run: async (call, agent: string, node: string | undefined, options: object) =>
        (await import("../commands/diff.ts")).diff(call, agent, node, options),
    },
    {
      name: "accept",
      description: "put an agent's branch into your repository; nothing else of it changes, unless you say --merge",
      args: [AGENT],
      options: [
        ["--merge", "merge it into the branch that you have checked out"],
        ["--pr", "push it and open a pull request with gh"],
        ["--title <text>", "with --pr: its title; the goal by default"],
        ["--remote <name>", "with --pr: where to push; origin by default"],
        ["--into <folder>", "where your repository is now, if you moved it"],
      ],
      examples: ["accept fix-tests", "accept fix-tests --merge", 'accept fix-tests --pr --title "Fix the flaky tests"'],
      run: async (call, agent: string, options: object) =>
        (await import("../commands/review.ts")).accept(call, agent, options),
    },
    {
      name: "reject",
      description: "take a node's work out of the branch; the coordinator hears why",
      args: [AGENT, ["<node>", NODE], ["<why>", "what is wrong with it; - reads it from stdin"]],
      lastIsText: "reason",
      options: [DETACH],
      examples: ['reject fix-tests node-2 "The retry hides the bug. Find the race."'],
      notes: EXIT_CODES,
      run: async (call, agent: string, node: string, why: string, options: object) =>
        (await import("../commands/review.ts")).reject(call, agent, node, why, options),
    },
    {
      name: "comment",
      description: "comment on a line of a node's work; its worker answers, or a node that continues with it",
      args: [
        AGENT,
        ["<node>", NODE],
        ["<file:line>", "as `diff` shows it after the change, e.g. src/main.js:12"],
        ["<text>", "what to say; - reads it from stdin"],
      ],
      lastIsText: "comment",
      options: [["--old", "the line as it was before the change"], DETACH],
      examples: ['comment fix-tests node-2 src/retry.js:12 "Why three times?"'],
      notes: EXIT_CODES,
      run: async (call, ...[agent, node, at, text, options]: [string, string, string, string, object]) =>
        (await import("../commands/review.ts")).comment(call, { agent, node, at, text }, options),
    },
    {
      name: "rebase",
      description: "merge your new commits into the agent's branch",
      args: [AGENT, ["[ref]", "a branch, tag or commit of yours; by default the branch it began from"]],
      options: [DETACH],
      examples: ["rebase fix-tests", "rebase fix-tests main"],
      notes: EXIT_CODES,
      run: async (call, agent: string, ref: string | undefined, options: object) =>
        (await import("../commands/review.ts")).rebase(call, agent, ref, options),
    },
    {
      name: "git",
      description: "everything an agent ever committed or saved: list it, or restore it as a branch of yours",
      args: [
        ["<action>", "log or restore"],
        AGENT,
        ["[ref]", "with restore: a commit, or a name that `git log` lists"],
      ],
      options: [["--into <folder>", "with restore: where your repository is now, if you moved it"]],
      examples: ["git log fix-tests", "git restore fix-tests 3f2a9c1b44"],
      run: async (call, action: string, agent: string, ref: string | undefined, options: object) =>
        (await import("../commands/git.ts")).git(call, { action, agent, ref }, options),
    },
  ],
};
