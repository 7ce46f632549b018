import { MachineFile } from "../store/home/machine-file.ts";
import type { Workplace } from "../workers/workplace.ts";
import type { Settings } from "./config/settings.ts";
import { machineOf, type OpenSandbox } from "./programs/machine.ts";

export interface CommandSandbox {
  /** The one sandbox of all commands, opened when it is first needed: loading and testing it takes a moment. */
  sandbox: OpenSandbox;
  /** What commands find there, if it is known by now. */
  machine: Workplace["machine"];
  close(): void;
}

/** In a new home it is opened at once: what commands find there belongs into the first prompt. */
export function commandSandboxOf(settings: Settings): CommandSandbox {
  const unsafe = settings.config.sandbox?.unsafe ?? false;
  let opening: ReturnType<OpenSandbox> | undefined;
  const sandbox: OpenSandbox = (question) =>
    (opening ??= import("../sandbox/index.ts").then(({ openSandbox }) =>
      openSandbox({ unsafe, ...(question && { question }) }),
    ));
  const kept = new MachineFile(settings.home, settings.env.PATH ?? "", unsafe ? "unsafe" : "");
  const { prepare, ...found } = machineOf(sandbox, () => settings.config, kept);
  prepare();
  return { sandbox, ...found };
}
