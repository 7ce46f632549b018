import { type ResolveFnOutput, registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** What others could do to a file, in words; undefined if it is safe. */
export type ImportCheck = (path: string) => readonly string[];

/** Modules of extensions, by their address, with the check that holds for what they import. */
const checks = new Map<string, ImportCheck>();
let isHooked = false;

/**
 * Imports an extension's module directly: Node strips the types.
 *
 * IMPORTS-1. `agiraph` and `agiraph/…` are this very program, wherever the extension is: one copy, nothing to install.
 * IMPORTS-2. Every file that an extension brings along is checked like the extension itself, before it is run.
 */
export async function importExtension(path: string, check: ImportCheck): Promise<{ default?: unknown }> {
  hookImports();
  refuseUnsafe(path, check);
  const url = pathToFileURL(path).href;
  checks.set(url, check);
  return import(/* @vite-ignore */ url);
}

function hookImports(): void {
  if (isHooked) return;
  isHooked = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (checks.has(specifier)) return asModule(next(specifier, context));
      const check = context.parentURL === undefined ? undefined : checks.get(context.parentURL);
      if (check === undefined) return next(specifier, context);
      if (/^agiraph(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
      const found = next(specifier, context);
      if (!found.url.startsWith("file:")) return found;
      refuseUnsafe(fileURLToPath(found.url), check);
      checks.set(found.url, check);
      return found;
    },
  });
}

/** An extension is an ES module: without this, Node warns of a package.json somewhere above that does not say so. */
function asModule(found: ResolveFnOutput): ResolveFnOutput {
  return { ...found, format: found.format ?? (/\.m?ts$/.test(found.url) ? "module-typescript" : "module") };
}

function refuseUnsafe(path: string, check: ImportCheck): void {
  const [problem] = check(path);
  if (problem !== undefined) throw new Error(`Other users of this machine could change it: ${problem}`);
}
