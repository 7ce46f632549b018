import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { call, fail, hang, script, startTeam, temporaryHome } from "../../testing/index.ts";
import { tracesUrl } from "./telemetry.ts";

test("a run is a trace: run, nodes, turns, model calls and tool calls, by the GenAI conventions", async () => {
  const collector = await startCollector();
  const team = await startTeam({
    goal: "Measure the secret chip",
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_EXPORTER_OTLP_HEADERS: "x-team=a%20b" },
    coordinator: script(
      call("create_work_node", { task: "Measure chip A" }).with({
        usage: { input: 10, output: 2, cache_read: 4, cache_write: 1, reasoning: 0 },
      }),
      call("finish", { summary: "canary" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("read_file", { path: "nowhere.md" }),
        call("write_file", { path: "scratch/a.md", content: "canary" }),
        call("publish", { summary: "the canary sings" }),
      ),
    },
  });
  await team.outcome();
  await team[Symbol.asyncDispose]();

  expect(tree(collector.spans)).toEqual([
    `invoke_agent ${team.agent.now.agent.created.name}`,
    "  invoke_agent alice",
    "    turn 1",
    "      chat scripted/worker",
    "      execute_tool read_file",
    "    turn 2",
    "      chat scripted/worker",
    "      execute_tool write_file",
    "    turn 3",
    "      chat scripted/worker",
    "      execute_tool publish",
    "  turn 1",
    "    chat scripted/model",
    "    execute_tool create_work_node",
    "  turn 2",
    "    chat scripted/model",
    "  turn 3",
    "    chat scripted/model",
    "    execute_tool finish",
  ]);
  expect(collector.headers[0]).toMatchObject({ "x-team": "a b" });
  expect(attributesOf(collector.spans, "chat scripted/model")).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "scripted",
    "gen_ai.request.model": "scripted/model",
    "gen_ai.response.model": "scripted/model",
    "gen_ai.response.finish_reasons": ["tool-calls"],
    "gen_ai.conversation.id": team.agent.log.id,
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.usage.cache_read.input_tokens": 4,
    "gen_ai.usage.cache_creation.input_tokens": 1,
    "agiraph.cost_usd": 0,
  });
  expect(attributesOf(collector.spans, "execute_tool read_file")).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "read_file",
    "gen_ai.tool.call.id": expect.any(String),
    "gen_ai.tool.type": "function",
    "gen_ai.conversation.id": team.agent.log.id,
    "error.type": "tool_error",
  });
  // Words stay in the home.
  expect(JSON.stringify(collector.spans).match(/secret chip|Measure|nowhere|canary/g)).toBeNull();
});

test("a model that fails and a run that is cut off are told as what they are", async () => {
  const collector = await startCollector();
  const team = await startTeam({
    goal: "Fail",
    env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` },
    coordinator: script(fail("bad_request")),
  });
  await team.agent.idle();
  const cut = await startTeam({
    goal: "Wait",
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    coordinator: script(hang()),
  });
  await cut.until(({ roster }) => roster.coordinator?.status === "busy");
  await team[Symbol.asyncDispose]();
  await cut[Symbol.asyncDispose]();

  const failures = collector.spans.filter(({ status }) => status.code === 2).map(({ name }) => name.split(" ")[0]);
  expect(failures.sort()).toEqual(["chat", "invoke_agent"]);
  expect(collector.spans.filter(({ name }) => name.startsWith("invoke_agent")).length).toBe(2);
});

test("a collector that is not there costs the run nothing", async () => {
  const team = await startTeam({
    goal: "Work all the same",
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
    coordinator: script(call("finish", { summary: "done" })),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  await team[Symbol.asyncDispose]();
});

test("whoever wants no traces loads nothing for them", async () => {
  const home = await temporaryHome();
  onTestFinished(() => home.remove());
  const watching = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context); } });
    const { openRuntime } = await import(${JSON.stringify(new URL("../open-runtime.ts", import.meta.url).href)});
    await (await openRuntime({ home: process.argv[1], env: {}, config: {} })).close();
    console.log(JSON.stringify({ any: loaded.length > 50, ours: loaded.filter((name) => /opentelemetry|spans/.test(name)) }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", watching, home.path]);
  expect(JSON.parse(stdout)).toEqual({ any: true, ours: [] });
});

test("where traces go is said by OpenTelemetry's own variables, and nowhere by default", () => {
  expect([
    tracesUrl({}),
    tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:4318" }),
    tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:4318/otel/" }),
    tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b/x" }),
    tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_SDK_DISABLED: "true" }),
  ]).toEqual([undefined, "http://a:4318/v1/traces", "http://a:4318/otel/v1/traces", "http://b/x", undefined]);
});

const valueSchema = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })) }).optional(),
});
const spanSchema = z.looseObject({
  name: z.string(),
  spanId: z.string(),
  traceId: z.string(),
  parentSpanId: z.string().optional(),
  attributes: z.array(z.object({ key: z.string(), value: valueSchema })),
  status: z.looseObject({ code: z.number().optional() }),
});
type ReceivedSpan = z.infer<typeof spanSchema>;
const bodySchema = z.object({
  resourceSpans: z.array(z.looseObject({ scopeSpans: z.array(z.looseObject({ spans: z.array(spanSchema) })) })),
});

/** What a real one is to us: takes spans by HTTP. */
async function startCollector() {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    if (request.url !== "/v1/traces") return response.writeHead(404).end();
    headers.push(request.headers);
    const { resourceSpans } = bodySchema.parse(await json(request));
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    return response.writeHead(200, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, headers };
}

/** Who is below whom; side by side they are in the order of their names, since many begin in the same millisecond. */
function tree(spans: readonly ReceivedSpan[], parent?: string, indent = ""): string[] {
  const below = spans.filter(({ parentSpanId = undefined }) => (parentSpanId || undefined) === parent);
  below.sort((a, b) => (a.name < b.name ? -1 : 1));
  return below.flatMap(({ name, spanId }) => [`${indent}${name}`, ...tree(spans, spanId, `${indent}  `)]);
}

function attributesOf(spans: readonly ReceivedSpan[], name: string) {
  const span = spans.find((each) => each.name === name);
  return Object.fromEntries(span?.attributes.map(({ key, value }) => [key, plain(value)]) ?? []);
}

function plain({ stringValue, intValue, doubleValue, arrayValue }: z.infer<typeof valueSchema>) {
  return (
    stringValue ??
    doubleValue ??
    (intValue === undefined ? arrayValue?.values.map((each) => each.stringValue) : Number(intValue))
  );
}
