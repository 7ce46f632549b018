/** Another host has this agent: it is asked there, not here. */
export class ElsewhereError extends Error {
  override readonly name = "ElsewhereError";
  constructor(id: string, host: string | null) {
    super(`${id} is at work on another host (${host ?? "unknown"}). Ask for it there, or try again in a moment.`);
  }
}
