export { replaceFile, writeFileAtomic } from "./atomic-file.ts";
export type { Disk, DiskFile } from "./disk.ts";
export * from "./errors.ts";
export { type HomeHolder, readHolder } from "./home.ts";
export { nodeDisk } from "./node-disk.ts";
export { openStore, type StoreOptions } from "./open-store.ts";
export * from "./paths.ts";
export type * from "./store.ts";
