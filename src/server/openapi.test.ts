import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { COMMAND_ROUTES } from "../protocol/commands.ts";
import { script } from "../testing/index.ts";
import { startServer } from "../testing/start-server.ts";

test("the description of the API is valid OpenAPI, and has every route of the contract", async () => {
  await using house = await startServer({ coordinator: script() });
  const { status, body } = await house.get("/openapi.json");
  expect(status).toBe(200);
  const document = body as Record<string, Record<string, object>>;
  expect(await new Validator().validate(document)).toEqual({ valid: true });
  const routes = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const ofCommands = Object.values(COMMAND_ROUTES).map((route) => route.replace(/:(\w+)/g, "{$1}"));
  // A command that is added brings its route: no list but the table of commands need name it.
  expect(routes.filter((route) => !CONTRACT.includes(route) && !ofCommands.includes(route))).toEqual([]);
  expect(CONTRACT.filter((route) => !routes.includes(route))).toEqual([]);
});

/** What clients of earlier versions call: none of it may go. */
const CONTRACT = [
  "DELETE /agents/{id}",
  "DELETE /agents/{id}/triggers/{trigger_id}",
  "GET /agents",
  "GET /agents/{id}",
  "GET /agents/{id}/board",
  "GET /agents/{id}/board/{node_id}",
  "GET /agents/{id}/conversation",
  "GET /agents/{id}/events",
  "GET /agents/{id}/memory",
  "GET /agents/{id}/memory/{*}",
  "GET /agents/{id}/permissions",
  "GET /agents/{id}/questions",
  "GET /agents/{id}/repository",
  "GET /agents/{id}/repository/conflict",
  "GET /agents/{id}/repository/diff",
  "GET /agents/{id}/repository/lines",
  "GET /agents/{id}/repository/patch",
  "GET /agents/{id}/triggers",
  "GET /agents/{id}/workers",
  "GET /agents/{id}/workers/{worker_id}/conversation",
  "GET /agents/{id}/workspace",
  "GET /agents/{id}/workspace/{*}",
  "GET /config",
  "GET /healthz",
  "GET /inbox",
  "GET /login",
  "GET /meshes",
  "GET /meshes/{id}",
  "GET /meshes/{id}/{mesh}/messages/{queue}/{name}",
  "GET /meshes/{id}/{mesh}/output/{*}",
  "GET /meshes/{id}/{mesh}/queues",
  "GET /meshes/{id}/{mesh}/results",
  "GET /hosts",
  "POST /hosts/{host}/drain",
  "GET /models",
  "GET /workers",
  "PATCH /agents/{id}/board/{node_id}",
  "POST /agents",
  "POST /agents/{id}/board/{node_id}/assign",
  "POST /agents/{id}/board/{node_id}/cancel",
  "POST /agents/{id}/board/{node_id}/publish",
  "POST /agents/{id}/memory/search",
  "POST /agents/{id}/models",
  "POST /agents/{id}/nudge",
  "POST /agents/{id}/pause",
  "POST /agents/{id}/permissions/revoke",
  "POST /agents/{id}/respond",
  "POST /agents/{id}/restore",
  "POST /agents/{id}/resume",
  "POST /agents/{id}/seen",
  "POST /agents/{id}/send",
  "POST /agents/{id}/stop",
  "POST /agents/{id}/triggers",
  "POST /agents/{id}/triggers/{trigger_id}/pause",
  "POST /agents/{id}/triggers/{trigger_id}/resume",
  "POST /login",
  "POST /meshes",
  "POST /meshes/{id}/stop",
  "POST /meshes/{id}/{mesh}/agents/{agent}/kill",
  "POST /meshes/{id}/{mesh}/agents/{agent}/spawn",
  "POST /meshes/{id}/{mesh}/archive",
  "POST /meshes/{id}/{mesh}/messages",
  "POST /meshes/{id}/{mesh}/trust",
  "POST /meshes/{id}/{mesh}/untrust",
  "PUT /agents/{id}/board/{node_id}/scratch/{*}",
];
