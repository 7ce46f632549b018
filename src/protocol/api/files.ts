import { z } from "zod";
import { afterIdQuery } from "./page-query.ts";

export const listedFileSchema = z.object({
  path: z.string(),
  kind: z.enum(["file", "folder", "link", "special"]),
  bytes: z.int(),
  /** Published, and its content is not what was recorded: it was changed afterwards, or added. */
  changed: z.literal(true).optional(),
});

export const filesQuery = z.strictObject({
  ...afterIdQuery.shape,
  recursive: z.enum(["true", "false"]).default("false"),
  /** `zip`: what is published in this folder, as one file. */
  archive: z.enum(["zip"]).optional(),
  download: z.enum(["true", "false"]).default("false"),
});
export const filesPageSchema = z.object({
  path: z.string(),
  entries: z.array(listedFileSchema),
  next_after: z.string().nullable(),
  /** This is the last page, and there are more files than are listed: ask for a folder below. */
  truncated: z.boolean(),
});

export const memorySearchSchema = z.strictObject({
  query: z.string().trim().min(1, "it must not be empty").max(1000),
  limit: z.int().min(1).max(100).optional(),
});
export const memoryFoundSchema = z.object({
  results: z.array(
    z.object({
      path: z.string(),
      headings: z.array(z.string()),
      from_line: z.int(),
      to_line: z.int(),
      text: z.string(),
      /** Of when it is: the day that its heading or its file names, else when the file was last changed. */
      day: z.string(),
      score: z.number(),
    }),
  ),
  /** What was too much to be searched, if anything, in words: files beyond the first 50,000, or 8 MB of one. */
  not_searched: z.array(z.string()).optional(),
});
