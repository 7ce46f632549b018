import { z } from "zod";

export const MOST_PER_PAGE = 1000;
export const pageLimit = z.coerce.number().int().min(1).max(MOST_PER_PAGE);

/** Pages forward from a number: facts of a node. */
export const afterSeqQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: pageLimit.default(200),
});
/** Pages backward from a number: the conversation. */
export const beforeSeqQuery = z.strictObject({
  before: z.coerce.number().int().min(1).optional(),
  limit: pageLimit.default(50),
});
/** Pages forward from an id or a path. */
export const afterIdQuery = z.strictObject({ after: z.string().max(1024).optional(), limit: pageLimit.default(200) });
