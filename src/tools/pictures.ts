import type { Picture } from "../protocol/index.ts";
import type { Scope } from "../store/scope/scope.ts";
import { refusal, type ToolOutput } from "./tool.ts";

/** Where pictures that a model is shown are stored; only for a model that can see. */
export interface PicturesPort {
  keep(bytes: Buffer, media_type: string): Promise<Picture>;
}

/** What the strictest provider takes, with room for base64. */
const MAX_PICTURE_BYTES = 3 * 1024 * 1024;

const KINDS: readonly { media_type: string; what: string; is(start: string): boolean }[] = [
  { media_type: "image/png", what: "a PNG image", is: (start) => start.startsWith("\x89PNG\r\n\x1a\n") },
  { media_type: "image/jpeg", what: "a JPEG image", is: (start) => start.startsWith("\xff\xd8\xff") },
  { media_type: "image/gif", what: "a GIF image", is: (start) => /^GIF8[79]a/.test(start) },
  {
    media_type: "image/webp",
    what: "a WebP image",
    is: (start) => start.startsWith("RIFF") && start.slice(8, 12) === "WEBP",
  },
];

/** The file as a picture, if it is one: a description, and the picture itself if the model can see. */
export async function pictureOutput(scope: Scope, path: string, port?: PicturesPort): Promise<ToolOutput | undefined> {
  if (!port) return undefined;
  const { bytes: start, size } = await scope.readFile(path, { maxBytes: 16 });
  const kind = KINDS.find(({ is }) => is(start.toString("latin1")));
  if (!kind) return undefined;
  if (size > MAX_PICTURE_BYTES)
    return refusal(`${path} is ${kind.what}, ${size} bytes; at most ${MAX_PICTURE_BYTES} are shown. Make it smaller.`);
  const { bytes } = await scope.readFile(path, { maxBytes: MAX_PICTURE_BYTES });
  const picture = await port.keep(Buffer.from(bytes), kind.media_type);
  return { content: `${path} is ${kind.what}, ${size} bytes:`, picture };
}
