import { join } from "node:path";
import { createEmbeddingModel, type EmbeddingModel } from "../models/embeddings.ts";
import type { Model } from "../models/model.ts";
import type { NewFact } from "../protocol/index.ts";
import type { Sandbox } from "../sandbox/index.ts";
import type { Scope } from "../store/scope.ts";
import { fileTools } from "../tools/files.ts";
import { type ProcessEvent, shellTool } from "../tools/shell.ts";
import type { Tool } from "../tools/tool.ts";
import { webFetchTool } from "../tools/web-fetch.ts";
import { webSearchTool } from "../tools/web-search.ts";
import type { Actor, Recorder } from "../workers/carry-out.ts";
import { memoryTools } from "../workers/memories.ts";
import { type Settings, SettingsError } from "./settings.ts";

export interface Equipment {
  tools(scope: Scope, actor: Actor, model: Model, record: Recorder): Tool[];
  /** A command that a spec wants to succeed, in the same sandbox; resolves with what went wrong, or null. */
  /** The one sandbox of the house, opened by whoever needs it first. */
  sandbox(): Promise<Sandbox>;
  check(command: string, scope: Scope, signal: AbortSignal): Promise<string | null>;
}

/** The hands of everyone in the house: files, shell and web, each bound to what its owner may touch. */
export function equip({ env, config }: Settings): Equipment {
  const embedder = embedderOf({ env, config });
  // Loading and proving a sandbox takes a moment and not every team needs one, so it is opened by the first command.
  let opening: Promise<Sandbox> | undefined;
  const sandbox = () =>
    (opening ??= import("../sandbox/index.ts").then(({ openSandbox }) =>
      openSandbox({ unsafe: config.sandbox?.unsafe ?? false }),
    ));
  const tools: Equipment["tools"] = (scope, actor, model, record) => [
    ...fileTools(scope),
    shellTool({
      sandbox,
      binds: () => scope.binds(),
      env: placesOf(scope, record),
      ...(config.network ? { network: config.network } : {}),
      onProcess: (event) => record.log.append({ facts: [factOf(event, actor)] }).durable.catch(() => {}),
    }),
    ...(model.searchesWeb || env.AGIRAPH_SEARCH_MAX_USES?.trim() === "0" ? [] : [webSearchTool({ env, fetch })]),
    webFetchTool(config.web_fetch ? { allowPrivate: config.web_fetch.allow } : {}),
    ...memoryTools(actor, record, embedder),
  ];
  return {
    tools,
    sandbox,
    async check(command, scope, signal) {
      const tool = shellTool({ sandbox, binds: () => scope.binds(), env: { SCRATCH: scope.cwd } });
      const output = await tool.run({ command }, signal);
      if (typeof output === "string" || output.ok !== false) return null;
      return output.content;
    },
  };
}

/** Off unless somebody chose one; a choice that cannot work is said at once. */
function embedderOf({ env, config }: Pick<Settings, "env" | "config">): EmbeddingModel | undefined {
  const name = config.memory?.embeddings;
  if (name === undefined) return undefined;
  try {
    return createEmbeddingModel(name, { env, config, fetch });
  } catch (error) {
    throw new SettingsError(`memory.embeddings in config.json: ${error instanceof Error ? error.message : error}`);
  }
}

/** What a command may call its folders. */
function placesOf(scope: Scope, { log, now }: Recorder): Record<string, string> {
  const { run, created } = now().agent;
  return {
    SCRATCH: scope.cwd,
    ...(run ? { RUN: join(log.dir, "runs", run.id) } : {}),
    ...(created.project ? { PROJECT: created.project } : {}),
  };
}

function factOf(event: ProcessEvent, { worker_id, node_id }: Actor): NewFact {
  return event.type === "started"
    ? {
        type: "process.started",
        data: { worker_id, node_id, pid: event.pid, command: event.command, sandbox: event.sandbox },
      }
    : { type: "process.exited", data: { worker_id, node_id, pid: event.pid, code: event.code, signal: event.signal } };
}
