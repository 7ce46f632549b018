/**
 * Meshes: declared teams of a project whose messages are files.
 *
 * Sub-rooms, each importing only from those before it:
 *   files        the layout of a project, message files, queues, the queue watcher, the lock
 *   declaration  what people declare: configs, sources, topology, prompts, bundled meshes
 *   running      meshes at work: messages moved, routed and delivered, members, lifetimes
 *   terminal     members that are programs in tmux
 */
export { BUNDLED, bundledMeshes, type Copied, copyBundled } from "./declaration/bundled-meshes.ts";
export { MeshConfigError } from "./declaration/config-json.ts";
export type { DeclaredAgent } from "./declaration/declared-agent.ts";
export { type DeclaredMesh, readDeclared, readMesh } from "./declaration/declared-mesh.ts";
export { buildPrompt, keepPrompt, type PromptSection, promptText } from "./declaration/prompt.ts";
export { addressName, Layout, type MeshAddress, QUEUES, type QueueName } from "./files/layout.ts";
export { ProjectLockedError, readLockHolder } from "./files/lock.ts";
export type { MeshMessage } from "./files/mesh-message.ts";
export { format, MAX_MESSAGE, type ParsedMessage, parse, titleOf } from "./files/message-file.ts";
export { fileNameOf, sanitized } from "./files/message-names.ts";
export { Message } from "./files/message-operations.ts";
export { Queues } from "./files/queue.ts";
export type { Member } from "./running/member.ts";
export { Meshes, type MeshesPorts } from "./running/meshes.ts";
export { readState } from "./running/state-file.ts";
