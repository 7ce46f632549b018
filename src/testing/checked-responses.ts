import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import type { TestResponse, TestServer } from "./start-server.ts";

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        responses: z.record(
          z.string(),
          z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })).optional() }),
        ),
      }),
    ),
  ),
});

/**
 * From now on every JSON response is checked against `/openapi.json`: an unknown route, status or field fails the test.
 * `routes` collects what was checked.
 */
export async function checkResponses(house: TestServer): Promise<{ routes: Set<string> }> {
  const { paths } = documentSchema.parse((await house.get("/openapi.json")).body);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const routes = new Set<string>();
  house.onResponse = (method, path, received) => {
    const plain = path.split("?")[0] ?? "";
    const template = Object.keys(paths).find(
      (each) => asPattern(each).test(plain) && paths[each]?.[method.toLowerCase()],
    );
    if (template === undefined) {
      if (received.status === 404 || received.status === 401 || plain === "/openapi.json") return;
      throw new Error(`${method} ${plain} is not in openapi.json.`);
    }
    const operation = paths[template]?.[method.toLowerCase()];
    const { responses = {} } = operation ?? {};
    const response = responses[received.status] ?? responses[`${Math.floor(received.status / 100)}XX`];
    routes.add(`${method} ${template}`);
    const schema = response?.content?.["application/json"]?.schema;
    if (schema === undefined && isFile(template)) return;
    if (schema === undefined)
      throw new Error(`${method} ${template} has the status ${received.status}, which openapi.json does not say.`);
    if (!ajv.validate(schema as object, received.body))
      throw new Error(
        `${method} ${plain} → ${received.status} is not as openapi.json says: ${ajv.errorsText()}\n${show(received)}`,
      );
  };
  return { routes };
}

/** Files go out as they are. */
function isFile(template: string): boolean {
  return template.endsWith("/{*}") || template.endsWith("/{wildcard}");
}

function asPattern(template: string): RegExp {
  const parts = template
    .split("/")
    .map((part) => (part === "{*}" || part === "{wildcard}" ? ".+" : part.replace(/^\{.*\}$/, "[^/]+")));
  return new RegExp(`^${parts.join("/")}$`);
}

function show({ body }: TestResponse): string {
  return JSON.stringify(body).slice(0, 500);
}
