import { createReadStream, type ReadStream } from "node:fs";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { ZipFile } from "yazl";
import type { Scope } from "../store/scope/scope.ts";
import { RefusedRequest } from "./refusal.ts";

const MOST_FILES = 10_000;
const PUBLISHED = /^runs\/run-\d+\/nodes\/(node-\d+)\/published\/?$/;

/** A node's published files as one archive, created while it is sent, file by file. */
export async function sendZip(scope: Scope, path: string, reply: FastifyReply): Promise<FastifyReply> {
  const node = PUBLISHED.exec(path)?.[1];
  if (node === undefined) throw notAnArchive();
  const folder = path.replace(/\/$/, "");
  const { entries, more, tooDeep } = await scope.list(folder, { recursive: true, limit: MOST_FILES });
  if (tooDeep)
    throw new RefusedRequest(
      413,
      "too_large",
      `${tooDeep} is nested too deeply to be packed. Download a folder further down.`,
    );
  if (more)
    throw new RefusedRequest(
      413,
      "too_large",
      `There are more than ${MOST_FILES} files in it. Download its folders one by one.`,
    );
  // Before the first byte goes out: once it has, an error can only break the archive off.
  for (const { path: file, kind } of entries) if (kind === "file") (await scope.openChecked(file)).close();
  const zip = new ZipFile();
  let reading: ReadStream | undefined;
  for (const { path: file, kind } of entries) {
    if (kind !== "file") continue;
    zip.addReadStreamLazy(file.slice(folder.length + 1), { mode: 0o100644 }, (done) => {
      scope.openChecked(file).then(
        ({ fd }) => {
          reading = createReadStream("", { fd, start: 0 });
          // Where the client has left meanwhile, nobody else closes it.
          if (out.destroyed) reading.destroy();
          done(null, reading);
        },
        (error: unknown) => void out.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    });
  }
  // Nobody else closes the file that is being read when the client leaves.
  const out = new PassThrough().once("close", () => reading?.destroy());
  zip.on("error", (error) => out.destroy(error));
  pipeline(zip.outputStream, out).catch(() => {}); // a client that leaves, or a file that has gone: the response breaks off
  zip.end();
  return reply
    .headers({
      "content-type": "application/zip",
      "content-disposition": `attachment; filename="${node}.zip"`,
    })
    .send(out);
}

export function notAnArchive(): RefusedRequest {
  return new RefusedRequest(400, "bad_request", "archive: only a published/ folder can be downloaded as an archive.");
}
