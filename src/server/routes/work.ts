import { z } from "zod";
import {
  currentStage,
  type NodeState,
  nodeNamed,
  type Situation,
  type Stage,
  troubleOf,
  troubleView,
  type WorkerState,
} from "../../projections/index.ts";
import { afterIdQuery, afterSeqQuery, beforeSeqQuery } from "../../protocol/api/page-query.ts";
import {
  boardPageSchema,
  entriesPageSchema,
  fileWrittenSchema,
  listedWorkersPageSchema,
  type NodeView,
  nodeDetailSchema,
  putFileSchema,
  workersPageSchema,
} from "../../protocol/api/work.ts";
import { commandParams } from "../../protocol/commands.ts";
import { COORDINATOR, HUMAN } from "../../protocol/index.ts";
import { checkYours } from "../../runtime/human/human-work.ts";
import { conversationFile } from "../../store/paths.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import { humanScope, workerScope } from "../../store/scope/team-scopes.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";
import { nodeFiles } from "../node-files.ts";
import { notFound } from "../refusal.ts";

const tags = ["work"];
const onNode = ofAgent.extend({ node_id: commandParams.node_id });

export function workRoutes(app: Api, { agents }: RouteDeps): void {
  boardRoutes(app, agents);
  nodeRoutes(app, agents);
  workerRoutes(app, agents);
}

function boardRoutes(app: Api, agents: RouteDeps["agents"]): void {
  app.get(
    "/agents/:id/board",
    {
      schema: {
        summary: "All nodes and stages",
        tags,
        params: ofAgent,
        querystring: afterIdQuery,
        response: responses(boardPageSchema),
      },
    },
    async ({ params, query }) => {
      const { board, stages, agent } = await agents.situation(params.id);
      const { items, next_after } = pageOf(Object.values(board.nodes), query, ({ id }) => id);
      const current = agent.run ? currentStage(stages, agent.run.id) : undefined;
      return {
        nodes: items.map(nodeView),
        stages: stages.map(stageView),
        current_stage: current?.number ?? null,
        next_after,
      };
    },
  );
}

function nodeRoutes(app: Api, agents: RouteDeps["agents"]): void {
  app.get(
    "/agents/:id/board/:node_id",
    {
      schema: {
        summary: "One node: spec, refs, files, log, and why it exists",
        tags,
        params: onNode,
        querystring: afterSeqQuery,
        response: responses(nodeDetailSchema),
      },
    },
    async ({ params, query }) => {
      const { board, agent } = await agents.situation(params.id);
      const node = nodeNamed(board, params.node_id);
      if (!node) throw notFound(`There is no node "${params.node_id}". GET …/board lists those that exist.`);
      const { dir } = await agents.log(params.id);
      const scope = humanScope(
        dir,
        manifestsOf(() => board),
      );
      const files = await nodeFiles(scope, node, query);
      return {
        ...nodeView(node),
        ...files,
        refs: node.spec.refs,
        summary: "summary" in node ? node.summary : null,
        outcome: node.status === "failed" ? node.outcome : null,
        manifest: "files" in node ? node.files : [],
        why: { ...originOf(node, board, agent), seq: files.createdSeq },
      };
    },
  );

  app.put(
    "/agents/:id/board/:node_id/scratch/*",
    {
      schema: {
        summary: "Write a file into a node that is the human's",
        tags,
        params: onNode.extend({ "*": z.string().min(1).max(4096) }),
        body: putFileSchema,
        response: responses(fileWrittenSchema),
      },
    },
    async ({ params, body }) => {
      const agent = await agents.agent(params.id);
      const { id, spec } = checkYours(params.node_id, agent.now);
      const options = { agentDir: agent.log.dir, runId: spec.run_id, nodeId: id, workerId: HUMAN, project: null };
      const bytes = Buffer.from(body.content, body.encoding ?? "utf8");
      await workerScope(options).writeFile(`scratch/${params["*"]}`, bytes);
      return { path: params["*"], bytes: bytes.byteLength };
    },
  );
}

function workerRoutes(app: Api, agents: RouteDeps["agents"]): void {
  app.get(
    "/workers",
    {
      schema: {
        summary: "The names of the workers of all agents, at most a hundred of each",
        tags,
        querystring: afterIdQuery,
        response: responses(listedWorkersPageSchema),
      },
    },
    async ({ query }) => {
      const { items, next_after } = pageOf(await agents.workers(), query, ({ agent, id }) => `${agent.id}/${id}`);
      return { workers: items, next_after };
    },
  );

  app.get(
    "/agents/:id/workers",
    {
      schema: {
        summary: "The workers of an agent and their status",
        tags,
        params: ofAgent,
        querystring: afterIdQuery,
        response: responses(workersPageSchema),
      },
    },
    async ({ params, query }) => {
      const now = await agents.situation(params.id);
      const { items, next_after } = pageOf(Object.values(now.roster), query, ({ id }) => id);
      return { workers: items.map((worker) => workerView(worker, now)), next_after };
    },
  );

  app.get(
    "/agents/:id/workers/:worker_id/conversation",
    {
      schema: {
        summary: "Everything a worker read, said and did",
        tags,
        params: ofAgent.extend({ worker_id: z.string().max(60) }),
        querystring: beforeSeqQuery,
        response: responses(entriesPageSchema),
      },
    },
    async ({ params, query: { before, limit } }) => {
      const { roster, agent } = await agents.situation(params.id);
      const worker = Object.hasOwn(roster, params.worker_id) ? roster[params.worker_id] : undefined;
      if (!worker) throw notFound(`There is no worker "${params.worker_id}". GET …/workers lists those that exist.`);
      const run = worker.id === COORDINATOR ? (agent.run?.id ?? "run-1") : worker.spawned.run_id;
      const log = await agents.log(params.id);
      const { from, entries } = await log.entriesBefore(conversationFile(run, worker.id), limit, before);
      return { entries, next_before: from > 1 ? from : null };
    },
  );
}

/** Who created a node, under which node, and for which goal. */
function originOf({ spec }: NodeState, board: Situation["board"], agent: Situation["agent"]) {
  const { created_by, parent_node_id: parent, run_id } = spec;
  return {
    created_by,
    parent_node: parent,
    parent_task: parent ? (board.nodes[parent]?.spec.task ?? null) : null,
    goal: (agent.run?.id === run_id ? agent.run.goal : agent.goals[run_id]) ?? null,
  };
}

function nodeView(node: NodeState): NodeView {
  const { spec } = node;
  return {
    id: node.id,
    run_id: spec.run_id,
    stage: spec.stage ?? null,
    task: spec.task,
    status: node.status,
    assigned_worker: "worker_id" in node ? node.worker_id : node.reserved_for,
    parent_node: spec.parent_node_id,
    children: node.children,
    dependencies: spec.dependencies,
    deliverables: spec.deliverables,
    created_by: spec.created_by,
    created_at: node.created_ts,
    ended_at: "ended_ts" in node ? node.ended_ts : null,
    result_preview: previewOf(node),
    cost_usd: node.spent_usd,
  };
}

function previewOf(node: NodeState): string | null {
  if (node.status === "completed") return node.summary.slice(0, 200);
  if (node.status === "cancelled") return node.reason.slice(0, 200);
  if (node.status !== "failed") return null;
  return ("error" in node.outcome ? node.outcome.error : node.outcome.kind).slice(0, 200);
}

function stageView({ run_id, number, name, status, nodes, contract, assessment }: Stage) {
  return { run_id, number, name, status, nodes, checkpoint_policy: contract.checkpoint_policy, assessment };
}

function workerView(worker: WorkerState, { spending, troubles }: Situation) {
  const { name, kind, model, run_id, identity = null } = worker.spawned;
  const tally = spending.by_worker[worker.id];
  const at = worker.status === "retired" ? worker.still : worker;
  const trouble = troubleOf(troubles, worker.id);
  return {
    id: worker.id,
    name,
    kind,
    model,
    run_id,
    status: worker.status,
    node_id: at && "node_id" in at ? at.node_id : null,
    waiting_for: at?.status === "waiting" ? at.for : null,
    trouble: trouble ? troubleView(trouble) : null,
    identity,
    calls: tally?.calls ?? 0,
    tokens: tally ? tally.usage.input + tally.usage.output : 0,
    cost_usd: tally?.cost_usd ?? 0,
  };
}
