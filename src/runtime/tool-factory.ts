import type { Scrubber } from "../boundary/scrubber.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import { createEmbeddingModel, type EmbeddingModel } from "../models/embeddings.ts";
import type { Model } from "../models/model.ts";
import { backgroundCommandNamed } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Config, McpServerConfig } from "../protocol/config.ts";
import { COORDINATOR, type NewFact } from "../protocol/index.ts";
import { keepPicture } from "../store/run/picture-files.ts";
import type { Scope } from "../store/scope/scope.ts";
import { fileTools } from "../tools/files.ts";
import type { PicturesPort } from "../tools/pictures.ts";
import { toolsWithoutSecrets } from "../tools/scrubbed-tool.ts";
import { type ProcessEvent, shellTool, shellTools } from "../tools/shell.ts";
import { hidden, type Tool } from "../tools/tool.ts";
import { type FetchOptions, webFetchTool } from "../tools/web-fetch.ts";
import { canSearch, type SearchPorts, webSearchTool } from "../tools/web-search.ts";
import type { ActingWorker, Recorder } from "../workers/loop/recorded-loop.ts";
import { memoryTools, withMemoryKept } from "../workers/worker-memory.ts";
import type { CommandSandbox } from "./command-sandbox.ts";
import { type Settings, SettingsError } from "./config/settings.ts";
import { folderVariables } from "./programs/folder-variables.ts";
import { workerIdOf } from "./team/worker-names.ts";
import { type LookAt, looking } from "./views/agent-views.ts";

export interface ToolFactory extends Pick<CommandSandbox, "sandbox" | "machine"> {
  tools(
    scope: Scope,
    self: ActingWorker,
    model: Pick<Model, "searchesWeb" | "seesPictures">,
    recorder: Recorder,
  ): Tool[];
  /** A command that a spec wants to succeed, in the same sandbox; resolves with what went wrong, or null. */
  check(command: string, scope: Scope, signal: AbortSignal, recorder: Recorder): Promise<string | null>;
  /** What is there now, for triggers that wait for a change. */
  look: LookAt;
  /** What other people's servers give to this worker. One that is not there is on record, once until it was there. */
  foreignTools(self: ActingWorker, recorder: Recorder): Promise<() => readonly Tool[]>;
  close(): Promise<void>;
}

/**
 * Creates the tools of all workers: files, shell and web, each limited to what its owner may access, and the added
 * tools.
 */
export function createToolFactory(
  settings: Settings,
  clock: Pick<Clock, "now">,
  scrubber: Scrubber,
  { sandbox, machine, close: stopAsking }: CommandSandbox,
  added: readonly Tool[] = [],
): ToolFactory {
  const clean = toolsWithoutSecrets(scrubber);
  const embedder = liveEmbedder(settings);
  embedder();
  const builtIn = builtInTools(settings, sandbox, embedder, scrubber);
  const { foreignTools, close } = mcpTools(settings, clock, scrubber);
  return {
    tools: (...bound) => clean([...builtIn(...bound), ...added]),
    sandbox,
    machine,
    // Programs that think for themselves have hands of their own; what was added they get with what others' servers give.
    async foreignTools(self, recorder) {
      const foreign = await foreignTools(self, recorder);
      return added.length === 0 ? foreign : () => [...clean(added), ...foreign()];
    },
    close() {
      stopAsking();
      return close();
    },
    look: looking({
      sandbox,
      fetching: () => fetchOptions(settings),
      network: () => settings.config.network,
      scrubber,
    }),
    async check(command, scope, signal, recorder) {
      const { network } = settings.config;
      const env = folderVariables(scope, recorder.now().agent);
      const tool = shellTool({ sandbox, binds: () => scope.binds(), env, ...(network ? { network } : {}) });
      const output = await tool.run({ command }, signal);
      if (typeof output === "string" || output.ok !== false) return null;
      return scrubber.text(output.content);
    },
  };
}

/** Files, shell, web and memory. */
function builtInTools(
  settings: Settings,
  sandbox: ToolFactory["sandbox"],
  embedder: () => EmbeddingModel | undefined,
  scrubber: Scrubber,
): ToolFactory["tools"] {
  const { env } = settings;
  return (scope, self, model, recorder) => {
    const { network } = settings.config;
    const turn = () => recorder.pending().spending.by_worker[self.worker_id]?.calls ?? 0;
    return [
      ...fileTools(
        self.worker_id === COORDINATOR ? withMemoryKept(scope, recorder) : scope,
        model.seesPictures ? picturesIn(recorder.log.dir) : undefined,
      ),
      ...shellTools({
        sandbox,
        where: self.worker_id === COORDINATOR ? WHERE_TO_LEAD : scope.named?.PROJECT ? IN_A_CLONE : WHERE_TO_WORK,
        binds: () => scope.binds(),
        env: folderVariables(scope, recorder.now().agent),
        ...(network ? { network } : {}),
        recorded: (id) => backgroundCommandNamed(recorder.pending().commands, self.worker_id, id),
        onProcess: (event) => recorder.log.append({ facts: [factOf(event, self, scrubber)] }).durable.catch(() => {}),
      }),
      ...(env.AGIRAPH_SEARCH_MAX_USES?.trim() === "0" ? [] : [searchTool(model.searchesWeb, { env, fetch, turn })]),
      webFetchTool(fetchOptions(settings)),
      ...memoryTools(self, recorder, embedder()),
    ];
  };
}

/** The scope's mirrors (`team-scopes.ts`) make it true. */
const WHERE_TO_LEAD = "with the paths of the file tools (agent/ and project/ are read-only there)";
const IN_A_CLONE = "at the top of your clone (scratch/ is $SCRATCH, nodes/… is $RUN/nodes/…)";
/** In a worker's folder such places would be published with it. */
const WHERE_TO_WORK = "in scratch/ (from there, nodes/… is $RUN/nodes/…, project/… is $PROJECT/…)";

function fetchOptions({ config: { web_fetch } }: Pick<Settings, "config">): FetchOptions {
  return web_fetch ? { allowPrivate: web_fetch.allow } : {};
}

/** All agents of the home share the servers; each is opened for the first who gets it. */
function mcpTools(
  settings: Pick<Settings, "env" | "config">,
  { now }: Pick<Clock, "now">,
  scrubber: Scrubber,
): Pick<ToolFactory, "foreignTools" | "close"> {
  const clean = toolsWithoutSecrets(scrubber);
  let opening: Promise<McpServers> | undefined;
  const servers = () => settings.config.mcp_servers ?? {};
  const open = () =>
    (opening ??= import("../mcp/mcp-servers.ts").then(
      ({ McpServers }) => new McpServers(servers, { env: settings.env, now }),
    ));
  const onRecord = new Set<string>();
  return {
    async foreignTools(self, { log }) {
      const isGiven = ({ workers }: McpServerConfig) => !workers || workers.map(workerIdOf).includes(self.worker_id);
      if (!Object.values(servers()).some(isGiven)) return () => [];
      const { tools, changed, broken } = await (await open()).open(isGiven);
      const { worker_id, node_id } = self;
      const keyOf = (server: string) => JSON.stringify([log.id, server]);
      const why = new Map(broken.map((found) => [found.server, found.why]));
      for (const [server, entry] of Object.entries(servers()))
        if (isGiven(entry) && !why.has(server)) onRecord.delete(keyOf(server));
      const facts = broken
        .filter(({ server }) => !onRecord.has(keyOf(server)))
        .map(({ server, why }): NewFact => {
          onRecord.add(keyOf(server));
          return { type: "mcp.failed", data: { worker_id, node_id, server, why: scrubber.text(why) } };
        });
      if (facts.length > 0) await log.append({ facts }).durable;
      return () => {
        const given = clean(tools());
        const news = changed().map(
          ({ server, tool }): NewFact => ({ type: "mcp.changed", data: { worker_id, node_id, server, tool } }),
        );
        // A log that cannot be kept is told by the next append.
        if (news.length > 0) log.append({ facts: news }).durable.catch(() => {});
        return given;
      };
    },
    close: async () => (await opening)?.close(),
  };
}

/** Where nobody searches it is not offered; anyone who calls it all the same is told what to set. */
function searchTool(isNative: boolean, ports: SearchPorts): Tool {
  const tool = webSearchTool(ports);
  return isNative || canSearch(ports.env) ? tool : hidden(tool);
}

function picturesIn(agentDir: string): PicturesPort {
  return { keep: (bytes, media_type) => keepPicture(agentDir, bytes, media_type) };
}

/** As config.json names it now; made again only when it names another. */
function liveEmbedder(settings: Pick<Settings, "env" | "config">): () => EmbeddingModel | undefined {
  let made: { config: Config; model: EmbeddingModel | undefined } | undefined;
  return () => {
    const { config, env } = settings;
    if (made?.config !== config) made = { config, model: embedderOf({ env, config }) };
    return made.model;
  };
}

/** Off unless somebody chose one; a choice that cannot work is reported at once. */
export function embedderOf({ env, config }: Pick<Settings, "env" | "config">): EmbeddingModel | undefined {
  const name = config.memory?.embeddings;
  if (name === undefined) return undefined;
  try {
    return createEmbeddingModel(name, { env, config, fetch });
  } catch (error) {
    throw new SettingsError(`memory.embeddings in config.json: ${error instanceof Error ? error.message : error}`);
  }
}

function factOf(event: ProcessEvent, { worker_id, node_id }: ActingWorker, scrubber: Scrubber): NewFact {
  return event.type === "started"
    ? {
        type: "process.started",
        data: {
          ...{ worker_id, node_id, pid: event.pid, command: event.command, sandbox: event.sandbox },
          ...(event.omitted && { omitted: [...event.omitted] }),
          ...(event.background && { background: event.background }),
        },
      }
    : {
        type: "process.exited",
        data: {
          ...{ worker_id, node_id, pid: event.pid, code: event.code, signal: event.signal },
          ...(event.output && { output: scrubber.text(event.output) }),
          ...(event.background && { background: event.background }),
        },
      };
}
