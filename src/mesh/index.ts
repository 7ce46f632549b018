export { type Copied, copyReady, READY, readyMeshes } from "./engine/bundled-meshes.ts";
export { type Member, Meshes, type MeshesPorts } from "./engine/meshes.ts";
export { buildPrompt, keepPrompt, type PromptSection, promptText } from "./engine/prompt.ts";
export { type DeclaredAgent, type DeclaredMesh, MeshConfigError, readDeclared, readMesh } from "./files/config.ts";
export { Layout, nameOf, type Place, QUEUES, type QueueName } from "./files/layout.ts";
export type { Letter } from "./files/letter.ts";
export { ProjectLockedError, readHolder } from "./files/lock.ts";
export { Message } from "./files/message.ts";
export {
  fileNameOf,
  format,
  MAX_MESSAGE,
  type ParsedMessage,
  parse,
  sanitized,
  titleOf,
} from "./files/message-file.ts";
export { Queues } from "./files/queue.ts";
export { readState } from "./files/state.ts";
