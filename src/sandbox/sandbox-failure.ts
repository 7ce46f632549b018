/** The command never ran, because the confinement itself failed. */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
}
