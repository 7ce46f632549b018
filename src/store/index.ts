export { replaceFile, writeFileAtomic } from "./disk/atomic-file.ts";
export type { Disk, DiskFile } from "./disk/disk.ts";
export { nodeDisk } from "./disk/node-disk.ts";
export * from "./errors.ts";
export { type HomeHolder, readHolder } from "./home/home.ts";
export { openStore, type StoreOptions } from "./open-store.ts";
export * from "./paths.ts";
export type * from "./store.ts";
