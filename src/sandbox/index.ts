export { allGone, type First, thisProcess } from "./inside.ts";
export type { Ended, Launched, Program, Running } from "./program.ts";
export { type ProgramBinds, programBinds } from "./program-binds.ts";
export {
  type Address,
  type AddressGuard,
  isListed,
  isPublic,
  type Lookup,
  PrivateAddress,
  resolvePublic,
  systemLookup,
} from "./public-address.ts";
export {
  type Binds,
  type Bound,
  type Command,
  type CommandResult,
  defaultLimits,
  type Limits,
  type Network,
  openSandbox,
  type Sandbox,
  SandboxFailure,
  type SandboxKind,
  type SandboxOptions,
  type SelfTest,
} from "./sandbox.ts";
