/** The command never ran: the confinement itself failed. */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
}
