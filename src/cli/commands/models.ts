import { createCatalog, type ListedModel } from "../../models/catalog.ts";
import { systemClock } from "../../runtime/clock.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { amount } from "../format.ts";
import type { Invocation } from "../invocation.ts";
import { settingsOf } from "../look.ts";
import { type Cell, table } from "../table.ts";

export async function models(call: Invocation): Promise<ExitCode> {
  const { terminal, json } = call;
  const { env, config } = await settingsOf(call);
  const catalog = createCatalog({ env, config, sleep: systemClock.sleep, random: Math.random });
  const [listed, chosen] = await Promise.all([catalog.list(), catalog.chooseDefault()]);
  if (json) {
    for (const model of listed) await terminal.printJson(asJson(model));
    return EXIT.done;
  }
  const { paint } = terminal;
  const head = ["MODEL", "CONTEXT", "IN $/M", "OUT $/M", "USABLE"].map((text) => ({ text, paint: paint.dim }));
  const rows = listed.map((model): Cell[] => [
    { text: model.id, paint: model.missing === null ? paint.bold : paint.dim },
    { text: amount(model.contextWindow) },
    { text: dollars(model.price?.input) },
    { text: dollars(model.price?.output) },
    model.missing === null ? { text: "yes", paint: paint.green } : { text: `needs ${model.missing}`, paint: paint.dim },
  ]);
  await terminal.printLines(table([head, ...rows], terminal.columns));
  terminal.say(`Without a choice: ${chosen.model} (${chosen.why}). Other models of these providers can be named too.`);
  return EXIT.done;
}

function dollars(price: number | undefined): string {
  return price === undefined ? "–" : String(price);
}

function asJson({ id, contextWindow, searchesWeb, price, missing }: ListedModel) {
  return { id, context_window: contextWindow, searches_web: searchesWeb, price_usd_per_million: price, missing };
}
