import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type AddressGuard, type IpAddress, resolvePublic } from "../sandbox/index.ts";

/**
 * A GET that a model asked for.
 *
 * WEB-REQUEST-1. Only http and https, without credentials in the URL.
 * WEB-REQUEST-2. The address is checked, and exactly that address is connected to; the same at every redirect, at most
 *     five.
 * WEB-REQUEST-3. Bytes are counted as they arrive and again as they are decompressed; beyond the limit they are
 *     dropped.
 */
export async function requestPage(
  address: string,
  guard: AddressGuard,
  { maxBytes, signal }: RequestBounds,
): Promise<Fetched> {
  let url = checkedUrl(address);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const addresses = await resolvePublic(url.hostname, portOf(url), guard);
    const response = await get(url, addresses, signal);
    const location = response.headers.location;
    if (location && redirectStatus.has(response.statusCode ?? 0)) {
      response.destroy();
      if (!URL.canParse(location, url.href))
        throw new FetchRefused(`${url.href} redirects to "${location}", which is not an address.`);
      url = checkedUrl(new URL(location, url).href);
      continue;
    }
    const { body, cut } = await bodyOf(response, maxBytes, signal);
    return {
      url: url.href,
      status: response.statusCode ?? 0,
      contentType: response.headers["content-type"] ?? "",
      body,
      cut,
    };
  }
  throw new FetchRefused(`${address} redirects more than ${maxRedirects} times.`);
}

export interface RequestBounds {
  maxBytes: number;
  signal: AbortSignal;
}

export interface Fetched {
  /** Where the redirects ended. */
  url: string;
  status: number;
  contentType: string;
  body: Buffer;
  /** There was more than the cap. */
  cut: boolean;
}

/** The refusal says what the model can do instead. */
export class FetchRefused extends Error {
  override readonly name = "FetchRefused";
}

const maxRedirects = 5;
const redirectStatus = new Set([301, 302, 303, 307, 308]);

function checkedUrl(address: string): URL {
  if (!URL.canParse(address))
    throw new FetchRefused(`"${address}" is not an address. Give a whole one: https://host/path`);
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new FetchRefused(`Only http and https are fetched, not ${url.protocol}`);
  if (url.username || url.password)
    throw new FetchRefused("An address with a user name or password in it is not fetched.");
  url.hash = "";
  return url;
}

const portOf = ({ port, protocol }: URL) => Number(port) || (protocol === "https:" ? 443 : 80);

function get(url: URL, addresses: IpAddress[], signal: AbortSignal): Promise<IncomingMessage> {
  // WEB-REQUEST-2: asked for the name, answer with what was checked, never with a lookup of now.
  const lookup: LookupFunction = (_name, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, addresses);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, { lookup, agent: false, signal, headers, maxHeaderSize: 65_536 }, resolve);
    sent.on("error", reject);
    sent.end();
  });
}

const headers = {
  "user-agent": "Mozilla/5.0 (compatible; Agiraph/0.1)",
  accept: "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5",
  "accept-encoding": "gzip, deflate, br",
  "accept-language": "en,*;q=0.5",
};

async function bodyOf(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ body: Buffer; cut: boolean }> {
  const chunks: Buffer[] = [];
  const unpacked = new Cap(maxBytes, (chunk) => chunks.push(chunk));
  const packed = new Cap(maxBytes);
  try {
    const decoder = decoderFor(response.headers["content-encoding"]);
    if (decoder) await pipeline(response, packed, decoder, unpacked, { signal });
    else await pipeline(response, unpacked, { signal });
  } catch (error) {
    if (!(error instanceof CapReached)) throw error;
  }
  return { body: Buffer.concat(chunks), cut: packed.reached || unpacked.reached };
}

function decoderFor(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase() || "identity") {
    case "identity":
      return null;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new FetchRefused(`The page is packed in a way that was not asked for (${encoding}).`);
  }
}

class CapReached extends Error {}

/** Passes on, or keeps, up to its cap, and then breaks the pipeline: anyone who sends or unpacks more is stopped. */
class Cap extends Transform {
  reached = false;
  #left: number;
  readonly #keep: ((chunk: Buffer) => void) | undefined;

  constructor(maxBytes: number, keep?: (chunk: Buffer) => void) {
    super();
    this.#left = maxBytes;
    this.#keep = keep;
    if (keep) this.resume();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const fits = chunk.subarray(0, this.#left);
    this.#left -= fits.length;
    if (this.#keep) this.#keep(fits);
    else this.push(fits);
    this.reached = fits.length < chunk.length;
    done(this.reached ? new CapReached() : null);
  }
}
