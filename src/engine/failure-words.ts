import type { EngineAddress } from "./engine-address.ts";

/** An error of the network or of PostgreSQL: both have a code. */
export interface DatabaseFailure extends Error {
  code?: string;
  errors?: readonly DatabaseFailure[];
}

/** What failed and what to do; undefined for what only a mistake of ours can lead to. */
export function failureWords(error: DatabaseFailure, { shown, url }: EngineAddress): string | undefined {
  const code = error.code ?? error.errors?.[0]?.code;
  const { hostname, username } = new URL(url);
  const said = error.message.replaceAll(url, shown);
  if (code !== undefined && code in NETWORK)
    return `The engine ${shown} cannot be reached: ${NETWORK[code]}. Check its address, and that PostgreSQL runs there and accepts connections.`;
  if (/timeout exceeded when trying to connect|Connection terminated|timeout expired/.test(said))
    return `The engine ${shown} did not answer. Check its address, and that no firewall is in between.`;
  if (/does not support SSL/.test(said))
    return `${hostname} does not offer TLS. Turn it on there (ssl = on), or, on a network that you trust, end the address with ?sslmode=disable.`;
  if (/certificate|self-signed/i.test(said))
    return `The certificate of ${hostname} was not accepted (${said}). Name the authority that signed it: ?sslmode=verify-full&sslrootcert=FILE`;
  switch (code) {
    case "28P01":
    case "28000":
      return `${hostname} did not let ${username || "this user"} in: ${said}. Check the user and the password (in the address, PGPASSWORD or ~/.pgpass), and pg_hba.conf there.`;
    case "3D000":
      return `${shown}: the database does not exist. Create it there: createdb ${new URL(url).pathname.slice(1)}`;
    case "42501":
      return `The engine ${shown} refused it: ${said}. The role needs a schema of its own: create schema agiraph authorization ${username || "ROLE"}`;
    case "53100":
      return `The disk of the engine ${shown} is full. Nothing was changed; make room there and try again.`;
    case "53300":
      return `The engine ${shown} has no connection left. Raise max_connections there, or end what holds them.`;
    case "25006":
      return `The engine ${shown} is a standby and cannot be written to. Use the address of the primary.`;
    case "57014":
      return `The engine ${shown} took longer than a minute for one statement: something blocks it. See pg_stat_activity there.`;
    case "57P01":
    case "57P02":
    case "57P03":
      return `The engine ${shown} is starting or shutting down. Try again in a moment.`;
    default:
      return undefined;
  }
}

const NETWORK: Record<string, string> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ENOENT: "there is no such socket",
  ENOTFOUND: "the host's name is unknown",
  EAI_AGAIN: "the host's name could not be looked up",
  EPIPE: "the connection broke",
  ETIMEDOUT: "it did not answer",
};
