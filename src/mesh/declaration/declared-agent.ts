import { createHash } from "node:crypto";
import { join } from "node:path";
import { type MeshAgentConfig, type MeshConfig, meshAgentConfigSchema } from "../../protocol/index.ts";
import type { Layout } from "../files/layout.ts";
import { MeshConfigError, readJson } from "./config-json.ts";
import type { Sources } from "./sources.ts";
import { shortName } from "./topology.ts";

export interface DeclaredAgent {
  name: string;
  category: string;
  /** Its folder, with prompt.md and perhaps task.md and capabilities/. */
  dir: string;
  config: MeshAgentConfig;
  /** Changes when its prompt, its task or its capabilities do. */
  stamp: string;
}

/** An agent with its folder, as the config of its mesh refers to it. */
export function readAgent(
  sources: Sources,
  layout: Layout,
  { reference, config: mesh }: { reference: string; config: MeshConfig },
  wrong: (message: string) => MeshConfigError,
): DeclaredAgent {
  const name = shortName(reference);
  const category = reference.includes("/")
    ? reference.slice(0, reference.indexOf("/"))
    : categoryOf(sources, name, wrong);
  const own = `meshes/agents/${category}/${name}`;
  const file = `${own}/config.json`;
  if (sources.read(file) === undefined) throw wrong(`there is no ${file}`);
  const config = readJson(sources, file, meshAgentConfigSchema);
  if (config.name !== name)
    throw new MeshConfigError(file, `"name": it says ${config.name}, but the folder is called ${name}`);
  const texts = [`${own}/prompt.md`, `${own}/task.md`].map((path) => sources.read(path));
  const able = [...new Set([...(mesh.capabilities ?? []), ...(config.capabilities ?? [])])].map(
    (ability) => sources.read(`${own}/capabilities/${ability}.md`) ?? sources.read(`meshes/capabilities/${ability}.md`),
  );
  const stamp = createHash("sha256")
    .update(JSON.stringify([...texts, ...able]))
    .digest("hex");
  return { name, category, dir: join(layout.agents, category, name), config, stamp };
}

/** A name without a category is looked up in all of them. */
function categoryOf(sources: Sources, name: string, wrong: (message: string) => MeshConfigError): string {
  const found = sources
    .folders("meshes/agents")
    .filter((category) => sources.folders(`meshes/agents/${category}`).includes(name));
  if (found.length > 1)
    throw wrong(`${name} is in several categories (${found.join(", ")}); say which: ${found[0]}/${name}`);
  const [only] = found;
  if (only === undefined) throw wrong(`there is no meshes/agents/*/${name}`);
  return only;
}
