import { COMMAND_ROUTES, type CommandName, type CommandOf, type CommandResult } from "../protocol/commands.ts";
import { ApiError, type Transport } from "./transport.ts";

/** Sends a command to the server: parameters that its route names go into the path, the rest into the body. */
export async function giveCommand<C extends CommandName>(
  transport: Pick<Transport, "ask" | "url">,
  command: CommandOf<C>,
): Promise<CommandResult<C>> {
  const { do: name, ...args } = command as { do: CommandName } & Record<string, unknown>;
  const [method = "", url = ""] = COMMAND_ROUTES[name].split(" ");
  const path = url.replace(/:(\w+)/g, (_, param: string) => {
    const value = String(args[param]);
    delete args[param];
    return encodeURIComponent(value);
  });
  const body = Object.keys(args).length > 0 || method !== "DELETE" ? { body: args } : {};
  try {
    return (await transport.ask(method, path, body)) as CommandResult<C>;
  } catch (error) {
    throw error instanceof ApiError && isUnknownRoute(error) ? tooOld(error, name, transport.url) : error;
  }
}

/** The server has no such route, which is not the same as: no such agent. */
function isUnknownRoute({ status, message }: ApiError): boolean {
  return status === 404 && message.startsWith("There is nothing here.");
}

function tooOld(error: ApiError, name: string, url: string): ApiError {
  const where = url === "" ? "The server" : `The process at ${url}`;
  const message = `${where} is of an older version of Agiraph, which does not know "${name}". Start it again, and try once more.`;
  return new ApiError(error.status, "too_old", message);
}
