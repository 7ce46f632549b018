import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import type { ServerAnswer, TestServer } from "./start-server.ts";

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
export async function checkAnswers(house: TestServer): Promise<{ routes: Set<string> }> {
  const { paths } = documentSchema.parse((await house.get("/openapi.json")).body);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const routes = new Set<string>();
  house.onAnswer = (method, path, answer) => {
    const plain = path.split("?")[0] ?? "";
    const template = Object.keys(paths).find(
      (each) => asPattern(each).test(plain) && paths[each]?.[method.toLowerCase()],
    );
    if (template === undefined) {
      if (answer.status === 404 || answer.status === 401 || plain === "/openapi.json") return;
      throw new Error(`${method} ${plain} is not in openapi.json.`);
    }
    const operation = paths[template]?.[method.toLowerCase()];
    const { responses = {} } = operation ?? {};
    const response = responses[answer.status] ?? responses[`${Math.floor(answer.status / 100)}XX`];
    routes.add(`${method} ${template}`);
    const schema = response?.content?.["application/json"]?.schema;
    if (schema === undefined && isFile(template)) return;
    if (schema === undefined)
      throw new Error(`${method} ${template} answers with ${answer.status}, which openapi.json does not say.`);
    if (!ajv.validate(schema as object, answer.body))
      throw new Error(
        `${method} ${plain} → ${answer.status} is not as openapi.json says: ${ajv.errorsText()}\n${show(answer)}`,
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

function show({ body }: ServerAnswer): string {
  return JSON.stringify(body).slice(0, 500);
}
