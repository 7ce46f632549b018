import type { ProcessLimits } from "./git.ts";

/** For git where it reads what a worker made: an object may claim any size. */
export const UNTRUSTED: ProcessLimits = { memoryMiB: 4096, cpuSeconds: 600, fileMiB: 8192 };

/** What a node may bring into the agent's repository at once. */
export interface ReceiveLimits {
  /** Of the bundle. */
  bytes: number;
  /** Of one file. */
  fileBytes: number;
  /** Of all objects together, inflated. */
  inflatedBytes: number;
  objects: number;
  /** Of a commit with its message, or of a tag. */
  messageBytes: number;
  /** In one commit's tree, beside those that the person's own commits have. */
  files: number;
  /** Folders within folders; more where the person's own are deeper. */
  depth: number;
  /** In bytes; more where the person's own are longer. */
  pathLength: number;
  nameLength: number;
  refs: number;
  memoryMiB: number;
  cpuSeconds: number;
}

const MiB = 1024 * 1024;
export const DEFAULT_LIMITS: ReceiveLimits = {
  bytes: 2048 * MiB,
  fileBytes: 512 * MiB,
  inflatedBytes: 16_384 * MiB,
  objects: 2_000_000,
  messageBytes: MiB,
  files: 200_000,
  depth: 128,
  pathLength: 3_900,
  nameLength: 255,
  refs: 100,
  memoryMiB: 2048,
  cpuSeconds: 300,
};
