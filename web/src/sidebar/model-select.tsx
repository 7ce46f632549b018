import type { ListedModel } from "../live/api.ts";
import { FIELD } from "../shell/form.tsx";
import { amount } from "../text/figures.ts";

export function ModelSelect({
  name,
  models,
  standard,
  onChoose,
}: {
  name: string;
  models: readonly ListedModel[];
  /** What it is when nothing is chosen; a model of that name is not listed again. */
  standard: string;
  onChoose: (id: string) => void;
}) {
  return (
    <select id={name} name={name} defaultValue="" onChange={(event) => onChoose(event.target.value)} className={FIELD}>
      <option value="">{standard}</option>
      {models
        .filter(({ id }) => id !== standard)
        .map(({ id, usable, missing, price_usd_per_million: price }) => (
          <option key={id} value={id} disabled={!usable}>
            {id}
            {price ? ` · $${price.input}/$${price.output}` : ""}
            {usable || missing === null ? "" : ` · ${needs(missing)}`}
          </option>
        ))}
    </select>
  );
}

export function ModelNote({ model, why }: { model: ListedModel; why: string }) {
  const { price_usd_per_million: price, context_window, missing } = model;
  if (model.id.startsWith("demo/"))
    return <Note id={model.id} facts={["rules, no language model: give it a folder to survey"]} why={why} />;
  const facts = [
    price ? `$${price.input} in and $${price.output} out for a million tokens` : "price unknown",
    `${amount(context_window)} tokens of context`,
    ...(missing ? [needs(missing)] : []),
  ];
  return <Note id={model.id} facts={facts} why={why} />;
}

function Note({ id, facts, why }: { id: string; facts: readonly string[]; why: string }) {
  return (
    <p className="rounded-md bg-raised px-3 py-2 text-[13px] text-dim">
      <span className="font-semibold text-ink">{id}</span> · {facts.join(" · ")}
      {why && <> · chosen because {why}</>}
    </p>
  );
}

/** What is missing is a key, by its variable, or a program, by its name; or the server says what is wrong with a key. */
function needs(missing: string): string {
  if (missing.includes(" ")) return missing;
  return /^[A-Z0-9_]+$/.test(missing) ? `needs ${missing}` : `needs the program ${missing}`;
}
