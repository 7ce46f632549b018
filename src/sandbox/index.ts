export type { Binds } from "./binds/binds.ts";
export { type ProgramBinds, programBinds } from "./binds/program-binds.ts";
export { type Bound, defaultLimits, type Limits } from "./bounds/limits.ts";
export { SandboxFailure } from "./failure.ts";
export { allGone, type First, thisProcess } from "./first-process.ts";
export type { Network } from "./network/egress.ts";
export {
  type Address,
  type AddressGuard,
  isListed,
  isPublic,
  type Lookup,
  PrivateAddress,
  resolvePublic,
  systemLookup,
} from "./network/public-address.ts";
export { openSandbox, type SandboxOptions } from "./open-sandbox.ts";
export type { Ended, Launched, Program, Running } from "./program.ts";
export type { Command, CommandResult, Sandbox, SandboxKind, SelfTest } from "./sandbox.ts";
