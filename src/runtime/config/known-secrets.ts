import { createScrubber, type Scrubber } from "../../boundary/scrubber.ts";
import { secretsIn } from "../../boundary/secrets.ts";
import { tokenIfThere } from "../../store/home/token-file.ts";
import type { Settings } from "./settings.ts";

/**
 * Removes every secret of this home from a text: keys and tokens of the environment and config.json, and the server's
 * token.
 */
export function scrubberFor({ home, env, config }: Settings, variables: readonly string[] = []): Scrubber {
  const named = variables.flatMap((name) => (env[name] ? [{ name, value: env[name].trim() }] : []));
  return createScrubber([...secretsIn({ env, config }), ...named, ...serverToken(home)]);
}

/** The one scrubber of a process: config.json may name other secrets while it runs. `variables` are further secrets. */
export function liveScrubber(settings: Settings, variables: readonly string[] = []): Scrubber {
  let made: { config: Settings["config"]; scrubber: Scrubber } | undefined;
  const current = () => {
    const { config } = settings;
    if (made?.config !== config) made = { config, scrubber: scrubberFor(settings, variables) };
    return made.scrubber;
  };
  return {
    text: (text) => current().text(text),
    value: (value) => current().value(value),
    stream: () => current().stream(),
  };
}

function serverToken(home: string): { name: string; value: string }[] {
  try {
    const value = tokenIfThere(home);
    return value === undefined ? [] : [{ name: "token", value }];
  } catch {
    // A file that holds no token holds no secret; who needs the token reports it.
    return [];
  }
}
