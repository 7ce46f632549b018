import { z } from "zod";
import { type Fact, factTypes } from "../protocol/index.ts";
import { decodeLine } from "../store/journal/line.ts";

/** The first record of some bytes, if it is a whole fact of a kind that we know. */
export function decodeFact(bytes: Buffer): Fact | undefined {
  const end = bytes.indexOf(0x0a);
  const line = end < 0 ? undefined : decodeLine(bytes, 0, end);
  const fact = line && factEnvelope.safeParse(JSON.parse(line.json)).data;
  // Its checksum says that we wrote it so.
  return fact as Fact | undefined;
}

const factEnvelope = z.looseObject({
  seq: z.int().positive(),
  type: z.enum(factTypes),
  agent_id: z.string(),
  ts: z.number(),
  data: z.looseObject({}),
});
