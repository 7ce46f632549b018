import { z } from "zod";

/** Where an engine is: a PostgreSQL database, and the schema in it that is Agiraph's. */
export interface EngineAddress {
  /** As `pg` takes it, with the password if it has one. */
  url: string;
  schema: string;
  /** For people: without the password. */
  shown: string;
}

/** An engine cannot be used; the message says why and what to do. */
export class EngineError extends Error {
  override readonly name = "EngineError";
}

const schemaName = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/);

const EXAMPLE = "postgres://agiraph@db.example.org/agiraph";

/** From `postgres://user@host:port/database`. */
export function engineAddress(text: string, schema = "agiraph"): EngineAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["postgres:", "postgresql:"].includes(url.protocol))
    throw new EngineError(`The engine's address is not that of a PostgreSQL database. Expected for example ${EXAMPLE}`);
  if (url.pathname.length < 2)
    throw new EngineError(`The engine's address names no database: put its name at the end, as in ${EXAMPLE}`);
  if (!schemaName.safeParse(schema).success)
    throw new EngineError(
      `"${schema}" cannot be the name of a schema: use small letters, digits and underscores, for example agiraph.`,
    );
  const shown = new URL(url);
  shown.password = "";
  return { url: text, schema, shown: `${shown.href}${schema === "agiraph" ? "" : ` (schema ${schema})`}` };
}
