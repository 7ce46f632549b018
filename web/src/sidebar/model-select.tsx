import { useState } from "react";
import type { ListedModel } from "../live/api.ts";
import { described, FIELD, FieldProblem, LABEL } from "../shell/form.tsx";
import { amount } from "../text/figures.ts";

/** Stands for a typed name; no model's name begins like this. */
const TYPED = ">";

interface ModelSelectProps {
  name: string;
  label: string;
  models: readonly ListedModel[];
  /** What the names on servers of config.json begin with. */
  prefixes: readonly string[];
  /** What it is when nothing is chosen; a model of that name is not listed again. */
  standard: string;
  fields: Readonly<Record<string, string>>;
  onChoose?: (id: string) => void;
}

/**
 * One of the listed models, or any other by its name: new models come faster than lists, and servers have their own.
 */
export function ModelSelect({ name, label, models, prefixes, standard, fields, onChoose }: ModelSelectProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const listed = models.filter(({ id }) => id !== standard);
  // The home's own are few, and were set up to be used.
  const isOwn = ({ id }: ListedModel) => id.startsWith("ollama/") || prefixes.some((prefix) => id.startsWith(prefix));
  const choose = (value: string) => {
    const begun = value.startsWith(TYPED) ? value.slice(TYPED.length) : null;
    setTyped(begun);
    onChoose?.(begun ?? value);
  };
  return (
    <div>
      <label className={LABEL} htmlFor={name}>
        {label}
      </label>
      <select
        id={name}
        {...(typed === null && { name, ...described(fields, name) })}
        defaultValue=""
        onChange={(event) => choose(event.target.value)}
        className={FIELD}
      >
        <option value="">{standard}</option>
        <Options models={listed.filter(isOwn)} />
        {prefixes.map((prefix) => (
          <option key={prefix} value={`${TYPED}${prefix}`}>
            {prefix}… · type the model
          </option>
        ))}
        <Options models={listed.filter((each) => !isOwn(each))} />
        <option value={TYPED}>another model, by its name…</option>
      </select>
      {typed !== null && (
        <input
          key={typed}
          // biome-ignore lint/a11y/noAutofocus: anyone who chose to type its name is about to
          autoFocus
          name={name}
          required
          defaultValue={typed}
          onChange={(event) => onChoose?.(event.target.value.trim())}
          aria-label={`${label}, by its name`}
          placeholder="provider/model"
          spellCheck={false}
          autoCapitalize="off"
          className={FIELD}
          {...described(fields, name)}
        />
      )}
      <FieldProblem fields={fields} of={name} />
    </div>
  );
}

function Options({ models }: { models: readonly ListedModel[] }) {
  return models.map((model) => (
    <option key={model.id} value={model.id} disabled={!model.usable}>
      {[model.id, ...(model.missing === null ? [priceOf(model)] : [needs(model.missing)])].join(" · ")}
    </option>
  ));
}

function priceOf({ id, price_usd_per_million: price }: ListedModel): string {
  if (!price) return "price unknown";
  return id.startsWith("demo/") || price.input + price.output === 0 ? "free" : `$${price.input}/$${price.output}`;
}

export function ModelNote({ model, why }: { model: ListedModel; why: string }) {
  const { price_usd_per_million: price, context_window, missing } = model;
  if (model.id.startsWith("demo/"))
    return <Note id={model.id} facts={["fixed rules, not a language model: give it a folder to survey"]} why={why} />;
  const facts = [
    price ? `$${price.input} in and $${price.output} out per million tokens` : "price unknown",
    `${amount(context_window)} tokens of context`,
    ...(missing ? [needs(missing)] : []),
  ];
  return <Note id={model.id} facts={facts} why={why} />;
}

/** Nothing is known about a model that is not listed before it is tried. */
export function TypedNote({ id }: { id: string }) {
  return (
    <Note id={id} facts={["not in the list: its price may be unknown, and then no budget can be enforced"]} why="" />
  );
}

function Note({ id, facts, why }: { id: string; facts: readonly string[]; why: string }) {
  return (
    <p className="rounded-md bg-raised px-3 py-2 text-[13px] text-dim [overflow-wrap:anywhere]">
      <span className="font-semibold text-ink">{id}</span> · {facts.join(" · ")}
      {why && <> · chosen because {why}</>}
    </p>
  );
}

/** What is missing is a key, by its variable, or a program, by its name; or the server says in words what is wrong. */
function needs(missing: string): string {
  if (missing.includes(" ")) return missing.split(". ", 1)[0] ?? missing;
  return /^[A-Z0-9_]+$/.test(missing) ? `needs ${missing}` : `needs the program ${missing}`;
}
