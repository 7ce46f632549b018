import { describe, expect, test } from "vitest";
import { readMesh } from "../../src/mesh/declaration/declared-mesh.ts";
import { buildPrompt, promptText } from "../../src/mesh/declaration/prompt.ts";
import type { SpeaksBy } from "../../src/mesh/files/message-text.ts";
import { declared } from "./seed-004.ts";

/** The seed's preamble, for the mesh "mesh-name" and its agent "agent-name". */
const PREAMBLE = `# Agent Orchestration - Session

You are running as Claude inside a tmux session managed by the agent orchestration system.

## Your Context
- **Mesh**: {mesh}
- **Agent**: {agent}
- **Workspace**: \`.ai/tx/mesh/{mesh}/agents/{agent}/\`

## How to Work
1. Read your incoming task from: \`.ai/tx/mesh/{mesh}/agents/{agent}/msgs/active/\`
2. Save your work to: \`.ai/tx/mesh/{mesh}/shared/output/\`
3. When done, use \`/tx-done\` to mark task complete

## File Paths
- **Inbox**: \`.ai/tx/mesh/{mesh}/agents/{agent}/msgs/inbox/\`
- **Active**: \`.ai/tx/mesh/{mesh}/agents/{agent}/msgs/active/\`
- **Outbox**: \`.ai/tx/mesh/{mesh}/agents/{agent}/msgs/outbox/\`
- **Complete**: \`.ai/tx/mesh/{mesh}/agents/{agent}/msgs/complete/\`
- **Shared output**: \`.ai/tx/mesh/{mesh}/shared/output/\`

## Important Commands
- \`/tx-done\` - Mark current task complete
- \`/tx-next\` - Request next task
- \`/search query\` - Search the web (SearXNG)
- \`/ask agent-name "question"\` - Ask another agent`;

/** Departures: not only Claude, not only in tmux, not only SearXNG; and the shell's words for each command. */
const OURS: Readonly<Record<string, RegExp>> = {
  "You are running as Claude inside a tmux session managed by the agent orchestration system.":
    /^You are running inside a session managed by the agent orchestration system\. /,
  "3. When done, use `/tx-done` to mark task complete": /^3\. When done, use `\/tx-done` to mark the task complete/,
  "- `/search query` - Search the web (SearXNG)": /^- `\/search query` - Search the web$/,
};

/** Commands and folders that only a terminal has. */
const TYPED = /tx done|\/tx-|\/search|\/ask|msgs\/|tx send/;

async function prompted(more: object = {}) {
  const config = { mesh: "mesh-name", type: "persistent", agents: ["category/agent-name", "category/other"], ...more };
  const scene = declared(JSON.stringify(config));
  scene.write("meshes/agents/category/agent-name/prompt.md", "You are {{agent}} of {{mesh}}. {{unknown}} stays.\n");
  const build = async (by?: SpeaksBy) => {
    const mesh = readMesh(scene.layout, "mesh-name");
    const agent = mesh.agents.get("agent-name");
    if (!agent) throw new Error("It is declared.");
    return buildPrompt(mesh, agent, by);
  };
  return { scene, build };
}

describe("Prompt Building", () => {
  test("files are read anew each time: a changed prompt holds from the next one on", async () => {
    const { scene, build } = await prompted();
    await using _ = scene;
    expect(promptText(await build())).toContain("You are agent-name of mesh-name. {{unknown}} stays.");
    scene.write("meshes/agents/category/agent-name/prompt.md", "Now you are somebody else.\n");
    expect(promptText(await build())).toContain("Now you are somebody else.");
  });
});

describe("Prompt Builder (`lib/prompt-builder.js`)", () => {
  test("preamble, agent prompt, task, capabilities, workflow, in this order, each with where it is from", async () => {
    const { scene, build } = await prompted({ capabilities: ["cap1"], workflow: ["agent-name", "other"] });
    await using _ = scene;
    const agent = "meshes/agents/category/agent-name";
    scene.write(`${agent}/task.md`, "The task of {{agent}}.\n");
    scene.write(`${agent}/config.json`, JSON.stringify({ name: "agent-name", capabilities: ["cap2", "cap3"] }));
    scene.write("meshes/capabilities/cap1.md", "How {{mesh}} does one.\n");
    scene.write(`${agent}/capabilities/cap2.md`, "How two is done.\n");
    const sections = await build();
    expect(sections.map(({ title, from }) => [title, from])).toEqual([
      ["Preamble", []],
      ["Agent Prompt", [`${agent}/prompt.md`]],
      ["Task", [`${agent}/task.md`]],
      ["Capabilities", ["meshes/capabilities/cap1.md", `${agent}/capabilities/cap2.md`]],
      ["Workflow", []],
    ]);
    const text = promptText(sections);
    const parts = ["# Agent Orchestration - Session", "You are agent-name of mesh-name.", "The task of agent-name."];
    const more = ["How mesh-name does one.", "How two is done.", "- cap3", "agent-name → other"];
    const at = [...parts, ...more].map((part) => text.indexOf(part));
    expect(at).toEqual(at.toSorted((a, b) => a - b));
    expect(at).not.toContain(-1);
  });

  test("every line of the seed's preamble is there, in its order, but for what is told as a departure", async () => {
    const { scene, build } = await prompted();
    await using _ = scene;
    const [preamble] = await build();
    const lines = preamble?.text.split("\n") ?? [];
    const wanted = PREAMBLE.replaceAll("{mesh}", "mesh-name").replaceAll("{agent}", "agent-name").split("\n");
    let from = 0;
    for (const line of wanted) {
      const at = lines.findIndex((one, index) => index >= from && (OURS[line]?.test(one) ?? one.startsWith(line)));
      expect([line, at >= from]).toEqual([line, true]);
      from = at + 1;
    }
    expect(from).toBe(lines.length);
  });
});

describe("agents without a terminal", () => {
  test.each([
    [
      "model",
      "Your files: output/… is shared/output of the mesh; shared/… is for all of it; project/… is the project, read-only; workspace/… is yours.\n3. When done, call tx_done.",
      "If what you check is not right, or it cannot be done, call tx_done with failed and why: the task goes back to other",
    ],
    [
      "tools",
      "Save your work to: `.ai/tx/mesh/mesh-name/shared/output/`\n3. When done, call tx_done.",
      "If what you check is not right, or it cannot be done, call tx_done with failed and why: the task goes back to other",
    ],
    [
      "files",
      "- **Agent**: agent-name\n\nYou are agent-name",
      "print why to standard error and exit with another code than 0: the task goes back to other",
    ],
  ] as const)("one that speaks by %s is told what it has, and no command of a terminal", async (by, how, refuse) => {
    const { scene, build } = await prompted({
      workflow: ["other", "agent-name"],
      on_failure: { "agent-name": { to: "other" } },
    });
    await using _ = scene;
    const text = promptText(await build(by));
    expect(text).toContain(how);
    expect(text).toContain(refuse);
    expect(text).not.toMatch(TYPED);
  });
});

test.each([
  ["terminal", "2. Save your work to: `.ai/tx/mesh/mesh-name/shared/output/agent-name/`, your own folder: others work"],
  ["tools", "2. Save your work to: `.ai/tx/mesh/mesh-name/shared/output/agent-name/`, your own folder. Elsewhere"],
  ["model", "2. Your files: output/… is your own folder in shared/output of the mesh"],
] as const)("who works beside others is told to keep to a folder of its own (%s)", async (by, how) => {
  const { scene, build } = await prompted({ topology: "parallel" });
  await using _ = scene;
  expect(promptText(await build(by))).toContain(how);
});
