import { createCatalog } from "../../models/catalog/catalog.ts";
import type { ListedModel } from "../../models/catalog/listed-models.ts";
import { systemClock } from "../../runtime/config/system-clock.ts";
import { mergedAdditions } from "../../runtime/extensions/additions.ts";
import { openExtensions } from "../../runtime/extensions/load-extensions.ts";
import { programsForCatalog } from "../../runtime/programs/program-launch.ts";
import { secureRandom } from "../../runtime/randomness.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { brokenExtensions } from "../home/extension-remarks.ts";
import { settingsOf } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { amount } from "../wording/format.ts";
import type { Paint } from "../wording/paint.ts";
import { type Cell, table } from "../wording/table.ts";

export async function models(call: Invocation): Promise<ExitCode> {
  const { terminal, json } = call;
  const settings = await settingsOf(call);
  const { env, config } = settings;
  await using extensions = await openExtensions(settings, systemClock);
  for (const line of brokenExtensions(extensions.states)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
  const { providers } = mergedAdditions(extensions.loaded);
  const programs = programsForCatalog({ env, config });
  const ports = { sleep: systemClock.sleep, random: secureRandom, providers, ...programs };
  const catalog = createCatalog({ env, config, ...ports });
  const [listed, chosen] = await Promise.all([catalog.list(), catalog.chooseDefault()]);
  if (json) {
    for (const model of listed) await terminal.printJson(asJson(model));
    return EXIT.done;
  }
  const { paint } = terminal;
  const head = ["MODEL", "CONTEXT", "IN $/M", "OUT $/M", "USABLE"].map((text) => ({ text, paint: paint.dim }));
  const rows = listed.map((model): Cell[] => [
    { text: model.id, paint: isUsable(model) ? paint.bold : paint.dim },
    { text: amount(model.contextWindow) },
    { text: dollars(model.price?.input) },
    { text: dollars(model.price?.output) },
    usableCell(model, paint),
  ]);
  await terminal.printLines(table([head, ...rows], terminal.columns));
  const missing = programs.programs().filter((program) => program.leads && program.missing !== null);
  if (missing.length > 0)
    terminal.say(`${missing.map(({ name }) => name).join(", ")}: not installed; agiraph programs status says how.`);
  terminal.say(`Default: ${chosen.model} (${chosen.why}). Other models of these providers can be named too.`);
  return EXIT.done;
}

function isUsable({ missing, malformed }: ListedModel): boolean {
  return missing === null && malformed === null;
}

function usableCell({ missing, malformed }: ListedModel, paint: Paint): Cell {
  if (malformed !== null) return { text: `${malformed} is malformed`, paint: paint.red };
  if (missing === null) return { text: "yes", paint: paint.green };
  return missing.includes(" ") ? { text: missing, paint: paint.red } : { text: `needs ${missing}`, paint: paint.dim };
}

function dollars(price: number | undefined): string {
  return price === undefined ? "–" : String(price);
}

function asJson({ id, contextWindow, searchesWeb, price, missing, malformed }: ListedModel) {
  const keys = { missing, malformed };
  return { id, context_window: contextWindow, searches_web: searchesWeb, price_usd_per_million: price, ...keys };
}
