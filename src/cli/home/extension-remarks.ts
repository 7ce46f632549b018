import type { ExtensionState } from "../../runtime/extensions/extension.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { plain } from "../wording/width.ts";

/** A line for each extension that was not loaded. */
export function brokenExtensions(extensions: readonly ExtensionState[]): string[] {
  return extensions.flatMap((each) =>
    each.state === "broken" ? [plain(`The extension ${each.file} was not loaded: ${each.problem}`)] : [],
  );
}

/** A line for each channel by which the person cannot answer. */
export function deafChannels(runtime: Pick<Runtime, "deafChannels">): string[] {
  return runtime.deafChannels.map(({ channel, why }) =>
    plain(`The channel ${channel} cannot listen, so it receives no answers: ${why}`),
  );
}
