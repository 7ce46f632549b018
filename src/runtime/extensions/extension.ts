import type { Settings } from "../config/settings.ts";
import type { Additions } from "./additions.ts";

/** The default export of an extension's module: what it adds, or a function that creates it. */
export type Extension = ExtensionParts | ((context: ExtensionContext) => ExtensionParts | Promise<ExtensionParts>);

export interface ExtensionParts extends Additions {
  /** Releases what the extension holds. Called once, when the runtime closes. */
  close?(): void | Promise<void>;
}

export interface ExtensionContext {
  /** The environment with what the `.env` files add to it. */
  readonly env: Settings["env"];
  /** The folder of the home. */
  readonly home: string;
}

/** Type-checks an extension where it is defined. */
export function defineExtension(extension: Extension): Extension {
  return extension;
}

/** One extension as it was found. */
export type ExtensionState = { file: string } & (
  | { state: "loaded"; tools: readonly string[]; providers: readonly string[]; channels: readonly string[] }
  | { state: "broken"; problem: string }
);
