import { webhookHandler } from "../../runtime/human/webhook-handler.ts";
import type { Api, RouteDeps } from "../api-app.ts";

/**
 * Receives signed answers (`POST /webhooks/NAME`): the handler reads the body itself, since the signature covers the exact
 * bytes.
 */
export function webhookRoutes(app: Api, { runtime }: RouteDeps): void {
  const handle = webhookHandler(runtime.channels, runtime.webhookPorts());
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.all("/webhooks/:name", { config: { access: "signed" }, schema: { hide: true } }, async (request, reply) => {
      reply.hijack();
      await handle(request.raw, reply.raw);
    });
  });
}
