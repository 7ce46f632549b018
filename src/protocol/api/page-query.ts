import { z } from "zod";

export const MOST_PER_PAGE = 1000;
export const pageLimit = z.coerce.number().int().min(1).max(MOST_PER_PAGE);

/** Pages that go on from a number: facts of a node. */
export const afterSeqQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: pageLimit.default(200),
});
/** Pages that go back from a number: what was said. */
export const beforeSeqQuery = z.strictObject({
  before: z.coerce.number().int().min(1).optional(),
  limit: pageLimit.default(50),
});
/** Pages that go on from an id or a path. */
export const afterIdQuery = z.strictObject({ after: z.string().max(1024).optional(), limit: pageLimit.default(200) });
