import { type FormEvent, useState } from "react";
import { agents } from "../live/agents.ts";
import { createAgent, type ListedModel, listModels } from "../live/api.ts";
import { useLoaded } from "../live/use-live.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, FIELD, LABEL, Problem } from "../shell/form.tsx";
import { keep, recall } from "../shell/memo.ts";
import { close } from "../shell/overlay.ts";
import { go } from "../shell/route.ts";
import { amount } from "../text/figures.ts";

export function NewAgent() {
  const models = useLoaded("models", listModels);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [model, setModel] = useState("");
  const standard = models.state === "ready" ? models.value.default.model : "";
  const listed = models.state === "ready" ? models.value.models : [];
  const chosen = listed.find(({ id }) => id === (model || standard));

  const create = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const said = new FormData(event.currentTarget);
    const text = (name: string) => String(said.get(name) ?? "").trim();
    setBusy(true);
    setProblem("");
    try {
      const made = await createAgent({
        goal: text("goal"),
        mode: text("mode") === "infinite" ? "infinite" : "finite",
        ...(text("name") && { name: text("name") }),
        ...(text("model") && { model: text("model") }),
        ...(text("worker_model") && { worker_model: text("worker_model") }),
        ...(text("budget") && { budget_usd: Number(text("budget")) }),
        ...(text("project") && { project: text("project") }),
      });
      keep("project", text("project") || null);
      close();
      go({ screen: "entity", agent: made.id, worker: "coordinator" }, { at: null });
      await agents.refresh();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title="New agent" onClose={close}>
      <form onSubmit={create} className="space-y-4">
        <label className={LABEL}>
          Goal
          <textarea
            name="goal"
            required
            rows={4}
            data-first
            placeholder="What should be true when it is done? Say it as you would to a colleague."
            className={`${FIELD} py-2`}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        </label>
        <label className={LABEL}>
          Folder it may read
          <input
            name="project"
            defaultValue={recall("project") ?? ""}
            placeholder="/home/you/project, or none"
            spellCheck={false}
            className={FIELD}
          />
        </label>
        <div className="grid gap-4 sm:grid-cols-2">
          <div>
            <label className={LABEL} htmlFor="model">
              Model
            </label>
            <ModelSelect name="model" models={listed} standard={standard || "chosen for you"} onChoose={setModel} />
          </div>
          <div>
            <label className={LABEL} htmlFor="worker_model">
              Model of its workers
            </label>
            <ModelSelect name="worker_model" models={listed} standard="the same" onChoose={() => {}} />
          </div>
        </div>
        {chosen && (
          <ModelNote model={chosen} why={model ? "" : models.state === "ready" ? models.value.default.why : ""} />
        )}
        <div className="grid gap-4 sm:grid-cols-3">
          <label className={LABEL}>
            Name
            <input name="name" maxLength={80} placeholder="from the goal" className={FIELD} />
          </label>
          <label className={LABEL}>
            Budget in USD
            <input name="budget" type="number" min="0.01" step="0.01" placeholder="no limit" className={FIELD} />
          </label>
          <label className={LABEL}>
            Mode
            <select name="mode" className={FIELD}>
              <option value="finite">until it is done</option>
              <option value="infinite">goes on, cycle by cycle</option>
            </select>
          </label>
        </div>
        <Problem text={problem} />
        <div className="flex items-center justify-end gap-3">
          <span className="mr-auto hidden text-xs text-dim sm:inline">Ctrl+Enter begins</span>
          <button type="submit" disabled={isBusy} className={ACTION}>
            {isBusy ? "Beginning…" : "Begin"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function ModelSelect({
  name,
  models,
  standard,
  onChoose,
}: {
  name: string;
  models: readonly ListedModel[];
  /** What it is when nothing is chosen. */
  standard: string;
  onChoose: (id: string) => void;
}) {
  return (
    <select id={name} name={name} defaultValue="" onChange={(event) => onChoose(event.target.value)} className={FIELD}>
      <option value="">{standard}</option>
      {models.map(({ id, usable, price_usd_per_million: price }) => (
        <option key={id} value={id} disabled={!usable}>
          {id}
          {price ? ` · $${price.input}/$${price.output}` : ""}
          {usable ? "" : " · needs a key"}
        </option>
      ))}
    </select>
  );
}

function ModelNote({ model, why }: { model: ListedModel; why: string }) {
  const { price_usd_per_million: price, context_window, missing } = model;
  const facts = [
    price ? `$${price.input} in and $${price.output} out for a million tokens` : "price unknown",
    `${amount(context_window)} tokens of context`,
    ...(missing ? [`needs ${missing}`] : []),
    ...(model.id.startsWith("demo/") ? ["rules, no language model: give it a folder to survey"] : []),
  ];
  return (
    <p className="rounded-md bg-raised px-3 py-2 text-[13px] text-dim">
      <span className="font-semibold text-ink">{model.id}</span> · {facts.join(" · ")}
      {why && <> · chosen because {why}</>}
    </p>
  );
}
