export * from "./actor.ts";
export * from "./channel.ts";
export * from "./config.ts";
export * from "./entry.ts";
export * from "./fact.ts";
export {
  contractSchema,
  DEADLINE,
  type GivenInput,
  type PublishedFile,
  publishedFileSchema,
  type StageContract,
} from "./fact-fields.ts";
export * from "./ids.ts";
export * from "./mesh.ts";
export * from "./outcome.ts";
export * from "./project-config.ts";
export * from "./repository.ts";
export * from "./trigger.ts";
export * from "./usage.ts";
