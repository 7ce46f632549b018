import { z } from "zod";
import { meshResultsSchema } from "../../protocol/api.ts";
import { openOutput, resultsView } from "../../runtime/mesh-results.ts";
import { type Api, answers, type RouteDeps } from "../api-app.ts";
import { answerFile } from "../file-answer.ts";
import { notFound } from "../refusal.ts";
import { hostedBy, noMesh, ofMesh } from "./meshes.ts";

/** What came of a mesh's work: its last words, and its files. */
export function meshResultRoutes(app: Api, { agents }: RouteDeps): void {
  const tags = ["meshes"];
  const hosted = hostedBy(agents);

  app.get(
    "/meshes/:id/:mesh/results",
    {
      schema: {
        summary: "The words with which a mesh's last task ended, and the files in its shared/output",
        tags,
        params: ofMesh,
        response: answers(meshResultsSchema),
      },
    },
    async ({ params }) => {
      const view = resultsView(await hosted(params.id), params.mesh);
      if (!view) throw noMesh(params.mesh);
      return view;
    },
  );

  app.get(
    "/meshes/:id/:mesh/output/*",
    {
      schema: {
        summary: "A file of a mesh's shared/output, as it is",
        tags,
        produces: ["text/plain", "application/octet-stream"],
        params: ofMesh.extend({ "*": z.string().max(4096) }),
        querystring: z.object({ download: z.enum(["true", "false"]).default("false") }),
      },
    },
    async (request, reply) => {
      const { id, mesh, "*": path } = request.params;
      const meshes = await hosted(id);
      if (!meshes.meshes.declared().has(mesh)) throw noMesh(mesh);
      const file = openOutput(meshes, mesh, path);
      if (!file) throw notFound(`There is no file ${path.slice(0, 200)} in shared/output of ${mesh}.`);
      return answerFile(file, path, request, reply, request.query.download === "true");
    },
  );
}
