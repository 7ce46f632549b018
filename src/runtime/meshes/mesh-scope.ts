import { mkdirSync } from "node:fs";
import { relative } from "node:path";
import type { Layout } from "../../mesh/files/layout.ts";
import { AccessTable } from "../../store/scope/access.ts";
import { FileScope } from "../../store/scope/file-scope.ts";
import { JoinedScope } from "../../store/scope/joined-scope.ts";
import { projectBinds } from "../../store/scope/project-binds.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { cloneScope, type MeshClone } from "./mesh-clone.ts";

/**
 * What a mesh agent in the sandbox may access: it writes to the mesh's shared files and its own workspace, and reads
 * its own messages and the project, except our home and names that begin with a dot. If others work at the same time,
 * it has its own `output/` folder, and can only read theirs. Where its task has a clone of the repository, plain paths and
 * commands begin there.
 */
export function meshScope(
  layout: Layout,
  { mesh, agent, beside }: { mesh: string; agent: string; beside: readonly string[] },
  home: string,
  clone?: MeshClone,
): Scope {
  const own = ofMesh(layout, { mesh, agent, beside }, home);
  if (!clone) return own;
  const root = layout.mesh(mesh);
  const files = own.describe();
  return new JoinedScope({
    first: cloneScope(clone, home),
    other: own,
    names: new Set(["output", "shared", "workspace", "agents"]),
    prefixes: [relative(layout.project, root), `project/${relative(layout.project, root)}`, root],
    named: { PROJECT: clone.folder, RUN: root, SCRATCH: own.cwd },
    describe: () => files,
  });
}

function ofMesh(
  layout: Layout,
  { mesh, agent, beside }: { mesh: string; agent: string; beside: readonly string[] },
  home: string,
): Scope {
  const root = layout.mesh(mesh);
  const isBeside = beside.length > 0;
  const output = isBeside ? layout.ownOutput(mesh, agent) : layout.output(mesh);
  const shared = layout.shared(mesh);
  const workspace = layout.workspace(mesh, agent);
  const ofOthers = beside.map((other) => layout.ownOutput(mesh, other));
  for (const dir of [output, workspace]) mkdirSync(dir, { recursive: true });
  const own = `agents/${agent}`;
  const whose = isBeside ? `your own part of shared/output/` : "shared with all";
  return new FileScope({
    agentDir: root,
    home,
    project: layout.project,
    inProject: relative(layout.project, root),
    top: [],
    aliases: new Map([
      ["output", ["shared", "output", ...(isBeside ? [agent] : [])]],
      ["workspace", ["agents", agent, "workspace"]],
    ]),
    cwd: output,
    table: new AccessTable([
      ...beside.map((other) => ({ at: `shared/output/${other}/**`, access: "read" as const, why: besideText(other) })),
      { at: "shared/**", access: "write", why: "" },
      { at: `${own}/workspace/**`, access: "write", why: "" },
      { at: `${own}/**`, access: "read", why: "Messages are sent with tx_send, tx_ask and tx_done." },
      { at: "**", access: "none", why: "It belongs to another agent." },
    ]),
    mayWrite: () => `You may write to output/… (${whose}), shared/… and workspace/… (your own).`,
    describe: () =>
      `# Your files\n\n- You write: output/… (what the mesh makes, ${whose}), shared/…, workspace/… (your own).\n- You read: all of that, your messages in agents/…, and the user's project as project/….`,
    async binds() {
      const inProject = await projectBinds(layout.project, home);
      // A folder that is not there cannot be kept from being written to.
      for (const dir of ofOthers) mkdirSync(dir, { recursive: true });
      const read = [layout.agent(mesh, agent), ...ofOthers];
      return { ...inProject, write: [shared, workspace], read, cwd: output };
    },
  });
}

function besideText(other: string): string {
  return `It is the folder of ${other}, who works at the same time.`;
}
