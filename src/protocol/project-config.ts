import { z } from "zod";

/** As seen from the top of the repository. */
const pathSchema = z
  .string()
  .max(1000)
  .refine(isInside, "expected a path inside the repository, such as package-lock.json or packages/api");

const commandSchema = z.string().trim().min(1, "expected a command, such as npm ci").max(4000);
const secondsSchema = z.number().positive().max(86_400);
const megabytesSchema = z.number().positive().max(1_000_000);

/** What a command makes ready before anybody works, for example by installing dependencies. */
export const setupSchema = z.strictObject({
  command: commandSchema,
  /** Files that it depends on: as long as they stay the same, what it made is used again. The known lock files if left out. */
  inputs: z.array(pathSchema).max(100).optional(),
  /** Files and folders that it makes. What git ignores if left out. */
  outputs: z.array(pathSchema).max(100).optional(),
  timeout_seconds: secondsSchema.optional(),
});

export const projectLimitsSchema = z.strictObject({
  /** Of what a node publishes at once, packed. */
  commit_mb: megabytesSchema.optional(),
  /** Of one file in it. */
  file_mb: megabytesSchema.optional(),
  /** In one commit. */
  files: z.int().positive().max(1_000_000).optional(),
  /** Of a checkout with what setup and checks make in it. */
  checkout_mb: megabytesSchema.optional(),
  /** Of the files that `.worktreeinclude` names. */
  include_mb: megabytesSchema.optional(),
  include_files: z.int().positive().max(100_000).optional(),
  /** For each check. */
  check_seconds: secondsSchema.optional(),
});
export type ProjectLimits = z.infer<typeof projectLimitsSchema>;

/** `.agiraph/project.json` in a repository: how to work on it. */
export const projectFileSchema = z.strictObject({
  setup: z.union([commandSchema, setupSchema]).optional(),
  /** Commands that must succeed before work is merged. */
  checks: z.array(commandSchema).max(50).optional(),
  /** What setup may reach, as `host` or `host:port`. */
  hosts: z
    .array(z.string().regex(/^[A-Za-z0-9*.-]+(:\d{1,5})?$/, "expected a host, or host:port"))
    .max(100)
    .optional(),
  limits: projectLimitsSchema.optional(),
});
export type ProjectFile = z.infer<typeof projectFileSchema>;

/** The same in `config.json`, for one folder; it overrides the file. Only here: whether agents write there by default. */
export const projectEntrySchema = z.strictObject({ write: z.boolean().optional(), ...projectFileSchema.shape });
export type ProjectEntry = z.infer<typeof projectEntrySchema>;

export const projectsSchema = z.record(
  z.string().regex(/^\//, "expected the absolute path of a folder"),
  projectEntrySchema,
);

function isInside(path: string): boolean {
  const names = path.replace(/\/$/, "").split("/");
  return names.every((name) => name !== "" && name !== "." && name !== ".." && name.toLowerCase() !== ".git");
}
