import { z } from "zod";
import { meshResultsSchema } from "../../protocol/api/meshes.ts";
import { noMesh } from "../../runtime/mesh-commands.ts";
import { openOutput, resultsView } from "../../runtime/meshes/results.ts";
import { WalkError } from "../../store/disk/folder.ts";
import type { OpenFile } from "../../store/disk/walk.ts";
import { type Api, type RouteDeps, responses } from "../api-app.ts";
import { notFound, RefusedRequest } from "../refusal.ts";
import { sendFile } from "../send-file.ts";
import { hostedBy, ofMesh } from "./meshes.ts";

/** The results of a mesh's work: its last words, and its files. */
export function meshResultRoutes(app: Api, { agents }: RouteDeps): void {
  const tags = ["meshes"];
  const hosted = hostedBy(agents);

  app.get(
    "/meshes/:id/:mesh/results",
    {
      schema: {
        summary: "The result text of a mesh's last task, and the files in its shared/output",
        tags,
        params: ofMesh,
        response: responses(meshResultsSchema),
      },
    },
    async ({ params }) => {
      const view = await resultsView(await hosted(params.id), params.mesh);
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
        querystring: z.strictObject({ download: z.enum(["true", "false"]).default("false") }),
      },
    },
    async (request, reply) => {
      const { id, mesh, "*": path } = request.params;
      const meshes = await hosted(id);
      if (!meshes.meshes.declared().has(mesh)) throw noMesh(mesh);
      const file = opened(() => openOutput(meshes, mesh, path), `${path.slice(0, 200)} in shared/output of ${mesh}`);
      return sendFile(file, path, request, reply, request.query.download === "true");
    },
  );
}

function opened(open: () => OpenFile, what: string): OpenFile {
  try {
    return open();
  } catch (error) {
    throw error instanceof WalkError ? refusalOf(error, what) : error;
  }
}

function refusalOf({ kind }: WalkError, what: string): RefusedRequest {
  const outside = (why: string) => new RefusedRequest(403, "outside_scope", `${what} ${why}`);
  switch (kind) {
    case "link":
      return outside(
        "is a link, is reached through one, or has a second name elsewhere. Put a copy of the file there.",
      );
    case "special":
      return outside("is not a regular file (a pipe, a socket or a device) and is not opened.");
    case "denied":
      return outside("cannot be opened: its permissions on disk forbid it.");
    case "bad_name":
      return outside('is not a valid name. Give a path relative to shared/output, without "..".');
    default:
      return notFound(`There is no file ${what}. GET …/results says what there is.`);
  }
}
