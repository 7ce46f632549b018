import { createReadStream } from "node:fs";
import { extname } from "node:path";
import type { FastifyReply } from "fastify";
import { closeFolder } from "../../store/disk/folder.ts";
import { type OpenFile, openFile, openFolder } from "../../store/disk/walk.ts";
import { parsePath } from "../../store/scope/written-path.ts";
import type { Api } from "../api-app.ts";
import { notFound } from "../refusal.ts";

/** The page runs only its own scripts, evaluates no text, connects only to this server, and cannot be framed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const KINDS: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
};

/** What the build names by its content (`board-view-Bx3_k9Qa.js`) never changes. `theme.js` may, with the next version. */
const NAMED_BY_CONTENT = /^assets\/.+-[\w-]{8}\.\w+$/;

/** The built web page: it contains no secrets, so it needs no key. All addresses under /ui/ serve the same page. */
export function pageRoutes(app: Api, webDir: string): void {
  const open = { config: { access: "open" as const }, schema: { hide: true } };
  app.get("/", open, (_request, reply) => sendFile(webDir, "index.html", reply));
  app.get("/ui", open, (_request, reply) => sendFile(webDir, "index.html", reply));
  app.get("/ui/*", open, (_request, reply) => sendFile(webDir, "index.html", reply));
  app.get("/assets/*", open, ({ params }, reply) =>
    sendFile(webDir, `assets/${(params as { "*": string })["*"]}`, reply),
  );
  for (const name of ["favicon.ico", "favicon.svg", "manifest.webmanifest"])
    app.get(`/${name}`, open, (_request, reply) => sendFile(webDir, name, reply));
}

function sendFile(root: string, path: string, reply: FastifyReply): FastifyReply {
  const file = openIn(root, path);
  return reply
    .headers({
      "content-type": KINDS[extname(path)] ?? "application/octet-stream",
      "content-length": file.size,
      "content-security-policy": POLICY,
      "cache-control": NAMED_BY_CONTENT.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
    })
    .send(createReadStream("", { fd: file.fd, start: 0 }));
}

function openIn(root: string, path: string): OpenFile {
  try {
    const parts = parsePath(path);
    const folder = openFolder(root, parts.slice(0, -1));
    try {
      return openFile(folder, parts.at(-1) ?? "");
    } finally {
      closeFolder(folder);
    }
  } catch {
    throw notFound("There is nothing here.");
  }
}
