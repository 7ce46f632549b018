import { join } from "node:path";
import { createInterface } from "node:readline";
import { type DeclaredMesh, readDeclared } from "../../mesh/declaration/declared-mesh.ts";
import { declaredNames } from "../../mesh/declaration/declared-names.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { MeshTrust, type MeshTrustState, mayRun } from "../../runtime/meshes/trust.ts";
import { fileChangeWords, type TrustSummary, trustSummary } from "../../runtime/meshes/trust-text.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import { isAttended } from "../live/interactive.ts";
import { type Cell, table } from "../wording/table.ts";
import { plain } from "../wording/width.ts";
import { layoutOf, runningMeshes, type TxCall, unknown } from "./project.ts";

interface TrustOptions {
  terminals?: boolean;
  yes?: boolean;
  list?: boolean;
}

/** A person agrees to the current content of a mesh. Nothing of it runs before that. */
export async function trust(call: TxCall, names: string[], options: TrustOptions): Promise<ExitCode> {
  const settings = await settingsOf(call);
  if (options.list) return list(call, settings);
  refuseAgents(call);
  const layout = layoutOf(call);
  const found = await lookAt(layout, settings);
  const stranger = names.find((name) => !found.some(({ mesh }) => mesh === name));
  if (stranger !== undefined)
    throw new UsageError(
      unknown(
        "mesh",
        stranger,
        found.map(({ mesh }) => mesh),
      ),
    );
  const meant = found.filter(({ mesh }) => names.length === 0 || names.includes(mesh));
  const open = meant.filter((one) => !isSettled(one, options.terminals ?? false));
  const settled = meant.filter((one) => !open.includes(one));
  if (found.length === 0) call.terminal.say("No mesh is declared in meshes/mesh-configs/.");
  if (names.length > 0 || open.length === 0) saySettled(call, settled);
  const decided: { mesh: string; hash: string; terminals: boolean; trusted: boolean }[] = [];
  for (const one of open) {
    show(call, layout, one);
    const answer = options.yes ? { terminals: options.terminals ?? false } : await ask(call, one, options.terminals);
    const { mesh, hash } = one;
    await settle(call, layout, settings, one, answer);
    decided.push({ mesh, hash, terminals: answer?.terminals ?? false, trusted: answer !== null });
  }
  if (call.json) await call.terminal.printJson({ project: layout.project, meshes: decided });
  return decided.every(({ trusted }) => trusted) ? EXIT.done : EXIT.waiting;
}

/** Withdraws trust: everything that the mesh has started ends, and its messages stay. */
export async function untrust(call: TxCall, mesh: string): Promise<ExitCode> {
  const layout = layoutOf(call);
  const settings = await settingsOf(call);
  const running = await runningMeshes(call, layout);
  const isKnown = running?.view.meshes.some((one) => one.mesh === mesh) ?? false;
  const granted = trustIn(settings)
    .all()
    .flatMap((one) => (one.project === layout.project ? [one.mesh] : []));
  const was = granted.includes(mesh);
  const declared = await declaredNames(layout);
  if (!was && !declared.includes(mesh))
    throw new UsageError(unknown("mesh", mesh, [...new Set([...declared, ...granted])]));
  if (running && isKnown) await running.client.give({ do: "untrust_mesh", id: running.view.id, mesh });
  else await trustIn(settings).revoke(layout.project, mesh);
  if (call.json) await call.terminal.printJson({ project: layout.project, mesh, was_trusted: was });
  const now = (await lookAt(layout, settings)).find((one) => one.mesh === mesh);
  const bundled = now?.status === "bundled" ? ` ${BUNDLED}` : "";
  call.terminal.say(`${was ? `${mesh} is no longer trusted.` : `${mesh} was not trusted.`}${bundled}`);
  return EXIT.done;
}

/** Before a start, asks a person at the terminal about meshes that are not trusted. Without a person they wait. */
export async function askBeforeStart(call: TxCall, layout: Layout, settings: Settings): Promise<void> {
  if (!isAttended(call) || call.speaker) return;
  for (const one of await lookAt(layout, settings)) {
    // A bundled mesh runs in the sandbox unasked; a person decides once whether it may have terminals.
    if (one.status === "trusted" || (mayRun(one) && !one.wants_terminals)) continue;
    show(call, layout, one);
    await settle(call, layout, settings, one, await ask(call, one, undefined));
  }
}

type MeshTrustLook = MeshTrustState & TrustSummary & { mesh: string; declared: DeclaredMesh };

const BUNDLED = "It comes with Agiraph, unchanged: it needs no trust and runs in the sandbox.";

async function lookAt(layout: Layout, settings: Settings): Promise<MeshTrustLook[]> {
  const { meshes } = await readDeclared(layout);
  const of = (mesh: string, declared: DeclaredMesh): MeshTrustLook => ({
    mesh,
    declared,
    ...trustIn(settings).stateOf(layout.project, declared),
    ...trustSummary(layout, declared, settings),
  });
  // Consent to a mesh is consent to all its instances.
  const own = [...meshes].filter(([mesh, { declaredAs }]) => mesh === declaredAs);
  return own.map(([mesh, declared]) => of(mesh, declared));
}

/** Nothing is left to decide. */
function isSettled({ status, terminals, wants_terminals }: MeshTrustLook, wanted: boolean): boolean {
  if (status === "bundled") return !wants_terminals;
  return status === "trusted" && (terminals || !wanted || !wants_terminals);
}

function saySettled({ terminal }: TxCall, settled: readonly MeshTrustLook[]): void {
  for (const { mesh } of settled.filter(({ status }) => status === "bundled")) terminal.say(`${mesh}: ${BUNDLED}`);
  const trusted = settled.flatMap(({ mesh, status, terminals }) =>
    status === "trusted" ? [`${mesh}${terminals ? " (with terminals)" : ""}`] : [],
  );
  if (trusted.length > 0) terminal.say(`Already trusted: ${trusted.join(", ")}.`);
}

function show({ terminal }: TxCall, { project }: Layout, looked: MeshTrustLook): void {
  const { mesh, status, says, files, hash, changes } = looked;
  const state = {
    changed: `has changed since you trusted it. ${fileChangeWords(changes)}`,
    untrusted: "is not trusted yet.",
    bundled: "comes with Agiraph, unchanged.",
    trusted: "is trusted, without terminals.",
  }[status];
  terminal.say(`${terminal.errPaint.bold(mesh)} ${state}`);
  for (const sentence of says) terminal.say(`  ${plain(sentence)}`);
  for (const { path, bytes } of files) {
    const mark = changes?.changed.includes(path) ? ", changed" : changes?.added.includes(path) ? ", new" : "";
    terminal.say(`    ${plain(join(project, path))} (${bytes} bytes${mark})`);
  }
  terminal.say(`  content ${hash}`);
}

/** Null means no. */
async function ask(
  call: TxCall,
  { mesh, status, wants_terminals }: MeshTrustLook,
  terminals: boolean | undefined,
): Promise<{ terminals: boolean } | null> {
  if (!isAttended(call))
    throw new UsageError(
      `Whether to trust ${mesh} is a person's decision, and nobody is at a terminal here. Read its files, then: tx trust ${mesh} --yes${wants_terminals ? " (with --terminals to allow terminals)" : ""}`,
    );
  const canChoose = wants_terminals && terminals === undefined;
  const choice = canChoose ? "y: yes, in the sandbox; t: with terminals; N: no" : "y/N";
  const question = status === "trusted" ? "Allow terminals" : `Trust ${mesh}${terminals ? ", with terminals" : ""}`;
  call.terminal.stderr.write(`${question}? [${choice}] `);
  const answer = (await lineFrom(call)).trim().toLowerCase();
  if ((canChoose || terminals) && (answer === "t" || answer === "terminals")) return { terminals: true };
  return answer === "y" || answer === "yes" ? { terminals: terminals ?? false } : null;
}

/** Reports the outcome, whatever was answered. */
async function settle(
  call: TxCall,
  layout: Layout,
  settings: Settings,
  looked: MeshTrustLook,
  answer: { terminals: boolean } | null,
): Promise<void> {
  if (answer) return grant(call, layout, settings, looked, answer.terminals);
  call.terminal.say(`${looked.mesh}: nothing was changed.`);
}

async function lineFrom({ terminal: { stdin } }: TxCall): Promise<string> {
  const lines = createInterface({ input: stdin, terminal: false });
  const { promise, resolve } = Promise.withResolvers<string>();
  lines.once("line", resolve);
  lines.once("close", () => resolve(""));
  try {
    return await promise;
  } finally {
    lines.close();
  }
}

/** Through the server if it runs: what was held starts at once. */
async function grant(
  call: TxCall,
  layout: Layout,
  settings: Settings,
  { mesh, hash, declared }: MeshTrustLook,
  terminals: boolean,
): Promise<void> {
  const running = await runningMeshes(call, layout);
  if (running)
    await running.client.give({ do: "trust_mesh", id: running.view.id, mesh, hash, terminals, by: "terminal" });
  else await trustIn(settings).grant(layout.project, declared, { terminals, by: "terminal" });
  call.terminal.say(`${mesh} is trusted${terminals ? ", with terminals" : ", in the sandbox"}.`);
}

async function list({ terminal, json }: TxCall, settings: Settings): Promise<ExitCode> {
  const all = trustIn(settings).all();
  if (json) {
    await terminal.printJson({ meshes: all });
    return EXIT.done;
  }
  const head: Cell[] = ["MESH", "TERMINALS", "SINCE", "PROJECT"].map((text) => ({ text, paint: terminal.paint.dim }));
  const rows = all.map(({ mesh, terminals, at, project }): Cell[] => [
    { text: mesh, paint: terminal.paint.bold },
    { text: terminals ? "yes" : "no" },
    { text: at.slice(0, 16).replace("T", " ") },
    { text: plain(project) },
  ]);
  if (rows.length > 0) await terminal.printLines(table([head, ...rows], terminal.columns));
  else terminal.say("No mesh is trusted yet. In a project: tx trust");
  return EXIT.done;
}

/** This does not stop an agent in a terminal, which has its user's rights; but none of our commands helps it. */
function refuseAgents({ speaker, terminal: { env } }: TxCall): void {
  if (speaker || env.TX_SESSION)
    throw new Refusal("Whether to trust a mesh is a person's decision, not an agent's. Ask your human: tx ask human");
}

export function trustIn({ home }: Settings): MeshTrust {
  return new MeshTrust(home, Date.now);
}
