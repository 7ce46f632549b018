export type { Binds } from "./binds/binds.ts";
export { type ProgramFiles, programFiles } from "./binds/program-files.ts";
export { type Bound, defaultLimits, type Limits } from "./bounds/limits.ts";
export { allGone, type FirstProcess, thisProcess } from "./first-process.ts";
export type { Network } from "./network/egress.ts";
export {
  type AddressGuard,
  type IpAddress,
  isListed,
  isPublic,
  type Lookup,
  PrivateAddress,
  resolvePublic,
  systemLookup,
} from "./network/public-address.ts";
export { openSandbox, type SandboxOptions, type SandboxQuestion } from "./open-sandbox.ts";
export type { Launched, Program, ProgramEnd, RunningProgram } from "./program.ts";
export type { Sandbox, SandboxKind, SelfTest, ShellCommand, ShellResult } from "./sandbox.ts";
export { SandboxFailure } from "./sandbox-failure.ts";
