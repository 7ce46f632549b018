import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { QueueName } from "../../src/mesh/files/layout.ts";
import type { Say, Script, ScriptedOptions, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";

/** What happens in a project of `mesh-gaps.test.ts`, once over all its lives. */
export interface Scenario {
  name: string;
  /** Fewer changes than these, and it does not do what it is for. */
  gaps: number;
  /** A disk that is full while meshes are opened is said to whoever opens them. */
  hows: readonly ("kill" | "fail")[];
  /** Some of what lies where when all is over. */
  ends: Record<string, string[]>;
  begin(): Play;
}

export interface Play {
  /** Also while it opens for the first time. */
  fromTheStart?: true;
  options: ScriptedOptions;
  /** What people do, each of it when its time has come: told again after a kill it does only what is left. */
  people: ((project: ScriptedProject) => void | Promise<void>)[];
}

/** Agents outlive the process that tells them: told again they do not speak again. */
function remembering(script: Script): Script {
  const heard = new Set<string>();
  return (message, say) => {
    const key = `${message.header.type} ${message.name}`;
    if (heard.has(key)) return;
    heard.add(key);
    return script(message, say);
  };
}

/** Ends each task by its name. */
const doer = () =>
  remembering(({ name, header }, say) => {
    if (header.type === "task") end(say, name);
  });

const handsOn = (other: string) =>
  remembering(({ name, header }, say) => {
    if (header.type !== "task") return;
    if (!name.startsWith("zz-")) say(other, "task", "# You\n", { name: `${name.slice(0, -3)}-${other}.md` });
    end(say, name);
  });

function end(say: Say, task: string, words = "Done.\n"): void {
  const stem = task.slice(0, -3);
  say("mesh", "task-complete", words, { name: `${stem}.end.md`, "in-reply-to": stem });
}

export async function isThere(project: ScriptedProject, agent: string | null, queue: QueueName, name: string) {
  const path = join(project.layout.queue({ mesh: "m", agent }, queue), name);
  await expect.poll(() => existsSync(path), { timeout: 120_000, interval: 20 }).toBe(true);
}

export const SCENARIOS: Scenario[] = [
  {
    name: "folders are made, and one task goes through",
    hows: ["kill"],
    gaps: 30,
    ends: { "m/ complete": ["1.md"], "m/a complete": ["1.0.md", "1.0.result.md"] },
    begin: () => ({
      fromTheStart: true,
      options: { configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }], agents: { a: doer() } },
      people: [(project) => project.send("m", "1.md", "# 1\n")],
    }),
  },
  {
    name: "two tasks through two in a row",
    hows: ["kill", "fail"],
    gaps: 30,
    ends: { "m/ complete": ["1.md", "2.md"], "m/b complete": ["1.1.md", "1.1.result.md", "2.1.md", "2.1.result.md"] },
    begin: () => ({
      options: {
        configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] }],
        agents: { a: doer(), b: doer() },
      },
      people: [(project) => project.send("m", "1.md", "# 1\n"), (project) => project.send("m", "2.md", "# 2\n")],
    }),
  },
  {
    name: "a lead that asks, is asked, and asks the human and another mesh",
    hows: ["kill", "fail"],
    gaps: 40,
    ends: {
      "m/ complete": ["t.md"],
      "other/ complete": ["check.md"],
      "m/lead complete": [
        "check.other.done.md",
        "how.md",
        "part.m.coder.done.md",
        "t.0.md",
        "t.0.result.md",
        "which.md",
      ],
    },
    begin: () => ({
      options: {
        configs: [
          { mesh: "m", type: "persistent", agents: ["x/lead", "x/coder"] },
          { mesh: "other", type: "persistent", agents: ["y/critic"] },
        ],
        agents: {
          lead: remembering(({ name, header }, say) => {
            if (header.type === "task" && name.startsWith("zz-")) end(say, name);
            else if (header.type === "task") {
              say("human", "ask", "Which?\n", { name: "which.md" });
              say("coder", "task", "# Part\n", { name: "part.md" });
            } else if (header.type === "ask") say("coder", "ask-response", "So.\n", { name: "so.md" });
            else if (header.from === "m/coder") say("other", "task", "# Check\n", { name: "check.md" });
            else end(say, "t.0.md");
          }),
          coder: remembering(({ header }, say) => {
            if (header.type === "task") say("lead", "ask", "How?\n", { name: "how.md" });
            else end(say, "part.md");
          }),
          critic: doer(),
        },
      },
      people: [(project) => project.send("m", "t.md", "# T\n")],
    }),
  },
  {
    name: "three at once, and a gate that fails once",
    hows: ["kill", "fail"],
    gaps: 30,
    ends: { "m/ complete": ["t.md"], "m/c complete": ["t.2.md", "t.2.result.md", "t.fix-1.md", "t.fix-1.result.md"] },
    begin: () => {
      const isFixed = (project: ScriptedProject | undefined) =>
        project === undefined ||
        existsSync(join(project.layout.queue({ mesh: "m", agent: "c" }, "complete"), "t.fix-1.md"));
      let current: ScriptedProject | undefined;
      return {
        options: {
          configs: [
            {
              mesh: "m",
              type: "persistent",
              topology: "parallel",
              agents: ["x/a", "x/b", "x/c"],
              validation_gates: ["good"],
            },
          ],
          agents: { a: doer(), b: doer(), c: doer() },
          gates: { good: async () => (isFixed(current) ? null : "Not yet.") },
        },
        people: [
          (project) => {
            current = project;
            project.send("m", "t.md", "# T\n");
          },
        ],
      };
    },
  },
  {
    name: "what is no message, from everywhere, under names that clash",
    hows: ["kill", "fail"],
    gaps: 30,
    ends: {
      "m/ complete": ["good.md"],
      "m/ quarantine": [
        "bad.md",
        "bad.reason.md",
        "bad.reason~2.md",
        "bad.reason~2.reason.md",
        "bad~2.md",
        "bad~2.reason.md",
        "folder.md",
        "folder.reason.md",
        "link.md",
        "link.reason.md",
        "worse.md",
        "worse.reason.md",
      ],
    },
    begin: () => ({
      options: {
        configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }],
        agents: {
          a: remembering(({ name, header }, say) => {
            if (header.type !== "task") return;
            if (name === "good.0.md") {
              say("human", "ask", "Who?\n", { from: "m/b", name: "lie.md" });
              say("nobody", "ask", "Who?\n", { name: "nobody.md" });
            }
            end(say, name);
          }),
        },
      },
      people: [
        ...["bad.md", "bad.reason.md", "worse.md"].map(
          (name) => (project: ScriptedProject) => project.put({ mesh: "m", agent: null }, "inbox", name, "no header\n"),
        ),
        (project) => project.put({ mesh: "m", agent: "a" }, "inbox", "bad.md", "---js\n---\n"),
        (project) => symlinkSync("/etc/hostname", inbox(project, "link.md")),
        (project) => mkdirSync(inbox(project, "folder.md"), { recursive: true }),
        (project) => isThere(project, null, "quarantine", "bad.md"),
        (project) => project.put({ mesh: "m", agent: null }, "inbox", "bad.md", "again none\n"),
        (project) => project.send("m", "good.md", "# Good\n"),
      ],
    }),
  },
  {
    name: "tasks that are ended while they wait",
    hows: ["kill", "fail"],
    gaps: 20,
    ends: {
      "m/lead complete": ["p1.m.coder.done.md", "p2.m.coder.done.md", "p3.m.coder.done.md", "t.0.md", "t.0.result.md"],
      "m/coder complete": ["p1.md", "p1.result.md", "p2.md", "p2.result.md", "p3.md", "p3.result.md"],
    },
    begin: () => {
      const done = new Set<string>();
      return {
        options: {
          configs: [{ mesh: "m", type: "persistent", agents: ["x/lead", "x/coder"] }],
          agents: {
            lead: remembering(({ name, header }, say) => {
              if (name.startsWith("zz-")) end(say, name);
              else if (header.type === "task")
                for (const part of ["p1.md", "p2.md", "p3.md"]) say("coder", "task", "# Part\n", { name: part });
              else if (done.add(name).size === 3) end(say, "t.0.md");
            }),
            coder: () => {},
          },
        },
        people: [
          (project) => project.send("m", "t.md", "# T\n"),
          (project) => isThere(project, "coder", "active", "p1.md"),
          (project) => isThere(project, "coder", "next", "p2.md"),
          (project) => isThere(project, "coder", "inbox", "p3.md"),
          ...["p3", "p2", "p1"].map((part) => (project: ScriptedProject) => {
            const header = `from: m/coder\nto: mesh\ntype: task-complete\nin-reply-to: ${part}\n`;
            project.put({ mesh: "m", agent: "coder" }, "outbox", `${part}.end.md`, `---\n${header}---\nDone.\n`);
          }),
        ],
      };
    },
  },
  {
    name: "a finished task that a hand puts back is done, and answered, once more",
    hows: ["kill", "fail"],
    gaps: 30,
    ends: {
      "m/coder complete": ["part.result.md", "part~2.md", "part~2.result.md"],
      "m/lead complete": ["part.m.coder.done.md", "part~2.m.coder.done.md", "t.0.md", "t.0.result.md"],
    },
    begin: () => ({
      options: {
        configs: [{ mesh: "m", type: "persistent", agents: ["x/lead", "x/coder"] }],
        agents: {
          lead: remembering(({ name, header }, say) => {
            if (name.startsWith("zz-")) end(say, name);
            else if (header.type === "task") say("coder", "task", "# Part\n", { name: "part.md" });
            else if (name.startsWith("part~2")) end(say, "t.0.md");
          }),
          coder: doer(),
        },
      },
      people: [
        (project) => project.send("m", "t.md", "# T\n"),
        (project) => isThere(project, "lead", "complete", "part.m.coder.done.md"),
        (project) => isThere(project, "coder", "complete", "part.md"),
        (project) => project.move({ mesh: "m", agent: "coder" }, "part.md", "complete", "inbox"),
      ],
    }),
  },
  {
    name: "a task that is handed round in a circle",
    hows: ["kill", "fail"],
    gaps: 20,
    ends: {
      "m/ complete": ["t.md"],
      "m/a complete": ["t.0-b-a.md", "t.0-b-a.result.md", "t.0-b.m.b.done.md", "t.0.md", "t.0.result.md"],
      "m/a quarantine": ["t.0-b-a-b.md", "t.0-b-a-b.reason.md"],
    },
    begin: () => ({
      options: {
        configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], max_hops: 2 }],
        agents: { a: handsOn("b"), b: handsOn("a") },
      },
      people: [(project) => project.send("m", "t.md", "# T\n")],
    }),
  },
];

function inbox(project: ScriptedProject, name: string): string {
  return join(project.layout.queue({ mesh: "m", agent: null }, "inbox"), name);
}
