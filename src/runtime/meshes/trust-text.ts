import { readdirSync } from "node:fs";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { Config } from "../../protocol/index.ts";
import { programsOf } from "../../workers/outside/programs.ts";
import type { Environment } from "../config/settings.ts";
import { describedRun, programName, runsAs } from "./runs-as.ts";
import type { FileChanges, MeshTrustState } from "./trust.ts";

/** What a person sees before they agree. */
export interface TrustSummary {
  /** What would run, in sentences. */
  says: string[];
  files: ShownFile[];
  /** Some of its agents are declared to run in terminals. */
  wants_terminals: boolean;
}

/** A file as it was read. Its text is null if the answer would become too large. */
interface ShownFile {
  path: string;
  bytes: number;
  text: string | null;
  is_cut: boolean;
}

/** The same text at the terminal, in the inbox and on the page. */
export function trustSummary(
  layout: Layout,
  mesh: DeclaredMesh,
  { config, env }: { config: Pick<Config, "programs">; env: Environment },
): TrustSummary {
  const agents = [...mesh.agents.values()];
  const inTerminals = agents.filter((agent) => runsAs(agent) === "tmux");
  const gates = (mesh.config.validation_gates ?? []).filter((gate) => mesh.sources.has(`meshes/gates/${gate}.sh`));
  const waiting = waitingIn(layout, mesh);
  const files = shownFiles(mesh);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const programs = programsOf(config);
  const given = inTerminals.flatMap((agent) => {
    const name = programName(agent);
    return Object.hasOwn(programs, name) ? (programs[name]?.env ?? []) : [];
  });
  const variables = [...new Set(given)].filter((name) => env[name]);
  const says = [
    `${agents.length} ${agents.length === 1 ? "agent" : "agents"}: ${agents.map((agent) => `${agent.name} (${shown(describedRun(agent))})`).join(", ")}.`,
    inTerminals.length > 0
      ? `Declared to run in terminals: ${inTerminals.map(({ name }) => name).join(", ")}. A terminal is outside the sandbox: it works in the project with your rights, its trust question is answered for it, and it edits files without asking${variables.length > 0 ? `. It gets these variables of your environment: ${variables.join(", ")}` : ""}. Without terminals they run headless, in the sandbox.`
      : "All of it runs in the sandbox.",
    ...((mesh.config.instances ?? 1) > 1 ? [`Up to ${mesh.config.instances} instances of it run at a time.`] : []),
    ...(gates.length > 0 ? [`Scripts that check its work, in the sandbox: ${gates.join(", ")}.`] : []),
    ...(waiting > 0
      ? [
          `${waiting} ${waiting === 1 ? "message waits" : "messages wait"} in its queues and would be worked on at once.`,
        ]
      : []),
    `${files.length} files of the project say what it does (${bytes} bytes). Read them first; after any change you are asked again.`,
  ];
  return { says, files, wants_terminals: inTerminals.length > 0 };
}

/** For the inbox: everything, with the hash that the answer applies to. */
export function trustQuestion(project: string, mesh: string, state: MeshTrustState, summary: TrustSummary): string {
  const head =
    state.status === "changed"
      ? `The mesh ${mesh} of ${project} has changed since you trusted it. Nothing of the new content runs until you agree.`
      : `The mesh ${mesh} of ${project} is not trusted yet. Nothing of it runs until you agree.`;
  const files = summary.files.slice(0, MOST_FILES).map(({ path, bytes }) => `- ${path} (${bytes} bytes)`);
  const more = summary.files.length - files.length;
  return [
    head,
    ...(state.status === "changed" ? [fileChangeWords(state.changes)] : []),
    ...summary.says,
    [...files, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n"),
    `Content: ${state.hash}`,
  ].join("\n\n");
}

/** Which files have changed since the person trusted them. */
export function fileChangeWords(changes: FileChanges | null): string {
  if (!changes) return "Which files changed is not known: it was not kept when you trusted it.";
  const parts = [
    ["changed", changes.changed],
    ["new", changes.added],
    ["gone", changes.removed],
  ] as const;
  return parts.flatMap(([word, paths]) => (paths.length > 0 ? [`${word}: ${listed(paths)}`] : [])).join("; ");
}

function listed(paths: readonly string[]): string {
  const more = paths.length - MOST_FILES;
  const names = paths.slice(0, MOST_FILES).map(shown).join(", ");
  return more > 0 ? `${names} and ${more} more` : names;
}

function shownFiles({ sources }: DeclaredMesh): ShownFile[] {
  let left = MOST_TEXT_IN_ALL;
  return [...sources].map(([path, { bytes, text: whole }]) => {
    const text = whole.slice(0, MOST_TEXT);
    const isShown = text.length <= left;
    if (isShown) left -= text.length;
    return { path, bytes, text: isShown ? text : null, is_cut: text.length < whole.length };
  });
}

const MOST_FILES = 40;
const MOST_TEXT = 64 * 1024;
const MOST_TEXT_IN_ALL = 256 * 1024;

/** A name from the project, escaped so that it cannot look like anything else. */
function shown(name: string): string {
  if (/^[\w./:@ -]{1,200}$/.test(name)) return name;
  const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(name.slice(0, 200)).replace(/[^\x20-\x7e]/g, escaped);
}

function waitingIn(layout: Layout, { config: { mesh }, agents }: DeclaredMesh): number {
  const addresses = [null, ...agents.keys()].map((agent) => ({ mesh, agent }));
  const count = (folder: string) => {
    try {
      return readdirSync(folder).filter((name) => name.endsWith(".md")).length;
    } catch {
      return 0;
    }
  };
  return addresses
    .flatMap((address) => (["inbox", "next", "active"] as const).map((queue) => count(layout.queue(address, queue))))
    .reduce((sum, found) => sum + found, 0);
}
