/**
 * A page of one's own: the API, with this folder's page in place of the built-in one.
 *
 *   node examples/page/serve.ts [PORT]
 *
 * (To use the API from a program, next to `agiraph serve`, see ApiClient in docs/extending.md.)
 */
import { join } from "node:path";
import { loadSettings, openRuntime } from "agiraph";
import { buildServer, tokenOf } from "agiraph/server";

const port = Number(process.argv[2] ?? 4750);
const settings = await loadSettings({}, process.env);
const runtime = await openRuntime(settings);
const app = await buildServer({
  runtime,
  settings,
  token: tokenOf(settings.home),
  webDir: join(import.meta.dirname, "web"),
});
const url = await app.listen({ port, host: "127.0.0.1" });
// The browser is logged in by a link that works once; the page then has a cookie, and no token.
console.log(`${url}/login?once=${app.credentials.newLink().once}`);

for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, async () => {
    await app.close();
    await runtime.close();
  });
