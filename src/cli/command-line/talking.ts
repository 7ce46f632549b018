import type { CommandGroup } from "./command-spec.ts";
import { AGENT, DETACH } from "./common-help.ts";

const TEXT = ["<text>", "what to say; - reads it from stdin"] as const;

export const TALKING: CommandGroup = {
  title: "Talk",
  commands: [
    {
      name: "inbox",
      description: "what waits for you, over all agents: questions, approvals, failures, unread messages",
      options: [
        ["--unread", "show the unread messages too"],
        ["--mark-read", "mark all messages as read, and the failed tasks of meshes as seen"],
      ],
      examples: ["inbox", "inbox --unread"],
      run: async (call, options: object) => (await import("../commands/inbox.ts")).inbox(call, options),
    },
    {
      name: "chat",
      description: "the conversation with an agent, live; type to talk",
      args: [AGENT],
      options: [["--all", "from the beginning, not only the last 20"]],
      examples: ["chat survey"],
      run: async (call, agent: string, options: object) =>
        (await import("../commands/chat.ts")).chat(call, agent, options),
    },
    {
      name: "send",
      description: "send a message to an agent, or to one of its workers",
      args: [AGENT, TEXT],
      lastIsText: "message",
      options: [["--to <name>", "the name of a worker, or * for everyone; by default the coordinator"], DETACH],
      examples: ['send survey "Leave the tests out"', 'send survey "Look at ./old first" --to Alice'],
      run: async (call, agent: string, text: string, options: object) =>
        (await import("../commands/speak.ts")).send(call, agent, text, options),
    },
    {
      name: "answer",
      description: "answer an agent's question",
      args: [AGENT, TEXT],
      lastIsText: "answer",
      options: [["--question <id>", "which question, if several are open"], DETACH],
      examples: ['answer survey "PostgreSQL"', 'answer survey "allow once" --question question-2'],
      run: async (call, agent: string, text: string, options: object) =>
        (await import("../commands/speak.ts")).answer(call, agent, text, options),
    },
    {
      name: "nudge",
      description: "give the coordinator a hint while it works; it need not reply",
      args: [AGENT, TEXT],
      lastIsText: "hint",
      options: [DETACH],
      examples: ['nudge survey "The figures are in ./figures.md"'],
      run: async (call, agent: string, text: string, options: object) =>
        (await import("../commands/speak.ts")).nudge(call, agent, text, options),
    },
    {
      name: "permissions",
      description: "what you always allow the programs of an agent in this run; --revoke takes one back",
      args: [AGENT],
      options: [["--revoke <id>", "an id from the list, or its beginning"]],
      examples: ["permissions survey"],
      run: async (call, agent: string, options: { revoke?: string }) =>
        (await import("../commands/permissions.ts")).permissions(call, agent, options),
    },
  ],
};
