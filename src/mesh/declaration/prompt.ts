import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Layout } from "../files/layout.ts";
import { stampOf } from "../files/message-names.ts";
import type { SpeaksBy } from "../files/message-text.ts";
import type { DeclaredAgent } from "./declared-agent.ts";
import type { DeclaredMesh } from "./declared-mesh.ts";
import { agentsBeside, leaves } from "./topology.ts";

/** One part of a prompt, and where it came from. */
export interface PromptSection {
  title: "Preamble" | "Agent Prompt" | "Task" | "Capabilities" | "Workflow" | "Project";
  /** The files it was read from, as seen from the project; none for what we write ourselves. */
  from: string[];
  text: string;
}

/**
 * The prompt of a mesh agent (seed 004, "Prompt Building"), in the seed's order. It is built from the files as they were
 * read with the declaration, so it is what a person has trusted.
 */
export function buildPrompt(mesh: DeclaredMesh, agent: DeclaredAgent, by: SpeaksBy = "terminal"): PromptSection[] {
  const variables = variablesFor(by, mesh, agent);
  const fill = (text: string) => text.replace(/\{\{\s*(\w+)\s*\}\}/g, (as, name) => variables.get(name) ?? as);
  const file = (path: string): PromptFile => {
    const source = mesh.sources.get(path);
    return source === undefined ? undefined : { from: path, text: fill(source.text).trim() };
  };
  const own = `meshes/agents/${agent.category}/${agent.name}`;
  const [prompt, task] = [file(`${own}/prompt.md`), file(`${own}/task.md`)];
  const sections: PromptSection[] = [{ title: "Preamble", from: [], text: preambleFor(by, mesh, agent) }];
  if (prompt) sections.push({ title: "Agent Prompt", from: [prompt.from], text: prompt.text });
  if (task) sections.push({ title: "Task", from: [task.from], text: task.text });
  const able = capabilities(mesh, agent, (name) => {
    return file(`${own}/capabilities/${name}.md`) ?? file(`meshes/capabilities/${name}.md`);
  });
  if (able) sections.push(able);
  sections.push({ title: "Workflow", from: [], text: workflow(mesh, agent, by) });
  return sections;
}

export function promptText(sections: readonly Pick<PromptSection, "text">[]): string {
  return `${sections.map(({ text }) => text).join("\n\n")}\n`;
}

/**
 * All that an agent is told before its first message. Programs are started without the project's own settings, and some
 * then skip its instructions too (CLAUDE.md, AGENTS.md), which are only text; so they are named here.
 */
export function sessionPrompt(
  layout: Layout,
  mesh: DeclaredMesh,
  agent: DeclaredAgent,
  by: SpeaksBy = "terminal",
): PromptSection[] {
  const sections = buildPrompt(mesh, agent, by);
  const rules = ["CLAUDE.md", "AGENTS.md"].filter((name) => existsSync(join(layout.project, name)));
  if (rules.length === 0) return sections;
  const places = rules.map((name) => `${PROJECT[by]}${name}`).join(", ");
  const text = `The project has instructions for agents: ${places}. Read them before you begin.`;
  return [...sections, { title: "Project", from: [], text }];
}

/** Saves the prompt of a session as `prompts/{timestamp}-prompt.md`, numbered within the minute. Returns its path. */
export async function keepPrompt(layout: Layout, place: { mesh: string; agent: string }, text: string, now: number) {
  const dir = layout.prompts(place.mesh, place.agent);
  await mkdir(dir, { recursive: true });
  for (let number = 1; ; number++) {
    const count = number === 1 ? "" : `-${number}`;
    const path = join(dir, `${stampOf(new Date(now))}${count}-prompt.md`);
    try {
      await writeFile(path, text, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** What `{{name}}` stands for in the files of a mesh: names, and folders and ways to speak as this agent has them. */
function variablesFor(by: SpeaksBy, { config }: DeclaredMesh, { name: agent }: DeclaredAgent): Map<string, string> {
  const { mesh, storage } = config;
  const root = { terminal: `.ai/tx/mesh/${mesh}/`, model: "", files: `$TX_PROJECT/.ai/tx/mesh/${mesh}/` };
  const at = root[by === "tools" ? "terminal" : by];
  return new Map([
    ["mesh", mesh],
    ["agent", agent],
    ["output", by === "files" ? "$TX_OUTPUT" : `${at}shared/output`],
    ["concepts", `${at}${storage?.concepts_path ?? "shared/concepts"}`],
    ["workspace", by === "model" ? "workspace" : `${at}agents/${agent}/workspace`],
    ...Object.entries(WAYS[by === "model" ? "tools" : by]),
  ]);
}

const WAYS = {
  terminal: {
    done: '`tx done "what you did"`',
    fail: '`tx done --failed "why"`',
    send: '`tx send AGENT "task"`',
    ask: '`tx ask AGENT "question"`',
  },
  tools: { done: "`tx_done`", fail: "`tx_done` with `failed`", send: "`tx_send`", ask: "`tx_ask`" },
  files: {
    done: "`_result.md`",
    fail: "to standard error, with an exit code other than 0",
    send: "`_outbox.md`",
    ask: "`_outbox.md`",
  },
} as const;

/** What a program that speaks by files is told before its prompt. */
export const HOW_BY_FILES = `## How to speak

You work in the current folder, by files:
- \`_inbox.md\` grows with what you are told while you run, and says who speaks.
- To ask or answer somebody, append to \`_outbox.md\`: a line \`TO: name\`, your words, a line \`---\`. The name is that of another agent of this mesh, or \`human\`.
- Leave results in the current folder or in $TX_OUTPUT; the project is $TX_PROJECT, read-only.
- When done, write what you did to \`_result.md\`. That ends your work.
- If it cannot be done, write no \`_result.md\`: print why to standard error and exit with another code than 0.`;

/** Where the project is, as a prefix of a path. */
const PROJECT = { terminal: "", tools: "", model: "project/", files: "$TX_PROJECT/" } as const;

type PromptFile = { from: string; text: string } | undefined;

/** The mesh's, then the agent's own. A file of that name describes it; the agent's overrides the project's. */
function capabilities(
  mesh: DeclaredMesh,
  agent: DeclaredAgent,
  find: (name: string) => PromptFile,
): PromptSection | undefined {
  const names = [...new Set([...(mesh.config.capabilities ?? []), ...(agent.config.capabilities ?? [])])];
  if (names.length === 0) return undefined;
  const parts = names.map((name) => ({ name, ...find(name) }));
  const text = parts
    .map(({ name, text }) => (text === undefined ? `- ${name}` : `### ${name}\n\n${text}`))
    .join("\n\n");
  return {
    title: "Capabilities",
    from: parts.flatMap(({ from }) => from ?? []),
    text: `## Capabilities\n\n${text}`,
  };
}

function preambleFor(by: SpeaksBy, mesh: DeclaredMesh, agent: DeclaredAgent): string {
  if (by === "terminal") return preamble(mesh, agent);
  const { config, plan } = mesh;
  const head = `# Agent Orchestration - Session

You are an agent of a mesh, a team whose messages are files. The sender of each message was checked.

## Your Context
- **Mesh**: ${config.mesh}
- **Agent**: ${agent.name}`;
  // What it does with files is said with each task.
  if (by === "files") return head;
  const own = agentsBeside(plan, agent.name).length > 0;
  const output = `.ai/tx/mesh/${config.mesh}/shared/output/`;
  const files = {
    model: `Your files: output/… is ${own ? "your own folder in " : ""}shared/output of the mesh; shared/… is for all of it${own ? ": write there only what your instructions name" : ""}; project/… is the project, read-only; workspace/… is yours.`,
    tools: own
      ? `Save your work to: \`${output}${agent.name}/\`, your own folder. Elsewhere below \`${output}\` write only what your instructions name.`
      : `Save your work to: \`${output}\``,
  }[by];
  return `${head}

## How to Work
1. Your task comes as a message; what begins with "[tx]" comes from the system that runs the mesh.
2. ${files}
3. When done, call tx_done. If it cannot be done, call tx_done with failed and why.
4. To ask another agent, or \`human\`, call tx_ask.`;
}

function preamble({ config: { mesh }, plan }: DeclaredMesh, { name: agent }: DeclaredAgent): string {
  const own = `.ai/tx/mesh/${mesh}/agents/${agent}`;
  const output = `.ai/tx/mesh/${mesh}/shared/output/`;
  const save =
    agentsBeside(plan, agent).length > 0
      ? `\`${output}${agent}/\`, your own folder: others work at the same time, and files of one name would overwrite each other. Elsewhere below \`${output}\` write only what your instructions name.`
      : `\`${output}\``;
  return `# Agent Orchestration - Session

You are running inside a session managed by the agent orchestration system. What is typed here with the words "[tx]" in front comes from that system; messages are files whose sender it has checked.

## Your Context
- **Mesh**: ${mesh}
- **Agent**: ${agent}
- **Workspace**: \`${own}/\`

## How to Work
1. Read your incoming task from: \`${own}/msgs/active/\`
2. Save your work to: ${save}
3. When done, use \`/tx-done\` to mark the task complete and say what you did (or run: \`tx done "what you did"\`)

## File Paths
- **Inbox**: \`${own}/msgs/inbox/\`
- **Active**: \`${own}/msgs/active/\`
- **Outbox**: \`${own}/msgs/outbox/\`
- **Complete**: \`${own}/msgs/complete/\`
- **Shared output**: \`${output}\`

## Important Commands
- \`/tx-done\` - Mark current task complete (\`tx done "words"\`)
- \`/tx-next\` - Request next task (\`tx next\`)
- \`/search query\` - Search the web
- \`/ask agent-name "question"\` - Ask another agent, or \`human\` (\`tx ask agent-name "question"\`)`;
}

function workflow(mesh: DeclaredMesh, { name }: DeclaredAgent, by: SpeaksBy): string {
  const { config, plan, agents, topology, failureRoutes } = mesh;
  const others = [...agents.values()].filter((agent) => agent.name !== name);
  const list = others.map(
    ({ name: other, config: { description } }) => `- ${other}${description ? `: ${description}` : ""}`,
  );
  const steps = leaves(plan).map(({ agent }) => agent);
  const how = {
    sequential: `Work goes from one to the next: ${steps.join(" → ")}. What you say when you are done is handed on.`,
    parallel: "Everyone gets the same task and works alone; it is complete when all are done.",
    "map-reduce": `First these, at the same time, then the one that sums up: ${steps.join(", ")}. What you say when you are done is handed on.`,
    hierarchical:
      steps[0] === name
        ? `You lead. ${HAND_ON[by]}; you are told when each is done. Mark the task complete when the whole is done.`
        : `${steps[0]} leads and hands out work. Mark yours complete when it is done; they are told.`,
  }[topology];
  const route = failureRoutes.get(name);
  const back = route
    ? ` ${REFUSE[by]} the task goes back to ${route.to} with your words, at most ${route.rounds} times.`
    : "";
  const team = list.length > 0 ? `\n\nThe others in this mesh:\n${list.join("\n")}` : "";
  return `## Workflow\n\n${config.description ? `${config.description.trim()}\n\n` : ""}${how}${back}${team}`;
}

const HAND_ON = {
  terminal: 'Hand parts on with `tx send AGENT "task"`',
  model: "Hand parts on with tx_send",
  tools: "Hand parts on with tx_send",
  files: "Ask the others by `_outbox.md`",
} as const;

const BY_TOOL = "If what you check is not right, or it cannot be done, call tx_done with failed and why:";
const REFUSE = {
  terminal: 'If it does not succeed, say why with `tx done --failed "why"`:',
  model: BY_TOOL,
  tools: BY_TOOL,
  files:
    "If what you check is not right, or it cannot be done, print why to standard error and exit with another code than 0:",
} as const;
