import { createReadStream, fstatSync, readSync } from "node:fs";
import { basename, extname } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OpenFile } from "../store/disk/walk.ts";
import { RefusedRequest } from "./refusal.ts";

/**
 * Sends a file that somebody in a team wrote.
 *
 * SEND-FILE-1. It is streamed, never loaded whole; a client that disconnects costs nothing more.
 * SEND-FILE-2. No browser runs its content: it is declared as plain text, one of four kinds of image, or bytes.
 * SEND-FILE-3. The same content has the same ETag; a single range can be requested.
 */
export function sendFile(
  file: OpenFile,
  path: string,
  { headers }: FastifyRequest,
  reply: FastifyReply,
  isDownload: boolean,
): FastifyReply {
  try {
    const stats = fstatSync(file.fd, { bigint: true });
    const etag = `"${[stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].map((part) => part.toString(36)).join("-")}"`;
    reply.headers({
      etag,
      "accept-ranges": "bytes",
      "cache-control": "private, no-cache",
      "content-type": kindOf(file.fd, path),
      "content-disposition": `${isDownload ? "attachment" : "inline"}; filename*=UTF-8''${encoded(basename(path))}`,
      "last-modified": new Date(Number(stats.mtimeMs)).toUTCString(),
    });
    if (isKnown(headers["if-none-match"], etag)) {
      file.close();
      return reply.code(304).send();
    }
    const range = rangeOf(headers.range, one(headers["if-range"]), etag, file.size);
    if (range === "unsatisfiable")
      throw new RefusedRequest(416, "bad_range", `The file has ${file.size} bytes.`, {
        "content-range": `bytes */${file.size}`,
      });
    const { start, end } = range ?? { start: 0, end: file.size - 1 };
    reply.code(range ? 206 : 200).header("content-length", end - start + 1);
    if (range) reply.header("content-range", `bytes ${start}-${end}/${file.size}`);
    if (file.size === 0) {
      file.close();
      return reply.send("");
    }
    // The stream closes the file.
    return reply.send(createReadStream("", { fd: file.fd, start, end }));
  } catch (error) {
    file.close();
    throw error;
  }
}

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

function kindOf(fd: number, path: string): string {
  const head = Buffer.alloc(8192);
  const isBinary = head.subarray(0, readSync(fd, head, 0, head.length, 0)).includes(0);
  const image = IMAGES[extname(path).toLowerCase()];
  return isBinary ? (image ?? "application/octet-stream") : "text/plain; charset=utf-8";
}

function encoded(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function isKnown(given: string | undefined, etag: string): boolean {
  return given?.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === etag) ?? false;
}

/** Several ranges at once, or what cannot be read as one, gets the whole file; so is any part of nothing. */
function rangeOf(
  given: string | undefined,
  ifRange: string | undefined,
  etag: string,
  size: number,
): { start: number; end: number } | "unsatisfiable" | undefined {
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(given ?? "") ?? [];
  if (size === 0 || (from === "" && to === "") || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start >= size || (from === "" && to === "0")) return "unsatisfiable";
  return end < start ? undefined : { start, end };
}
