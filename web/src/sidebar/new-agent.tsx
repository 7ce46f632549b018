import { type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { agents } from "../live/agents.ts";
import { ApiError, give, listModels, type Models } from "../live/api.ts";
import { useLoaded } from "../live/use-live.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, described, FIELD, Field, FieldProblem, FormEnd, Hint, LABEL } from "../shell/form.tsx";
import { keep, remembered } from "../shell/memo.ts";
import { closeOverlay } from "../shell/overlay.ts";
import { go } from "../shell/route.ts";
import { mayWriteIn, orderOf } from "./agent-order.ts";
import { ModelNote, ModelSelect, TypedNote } from "./model-select.tsx";

/** Until the server has said which models there are. */
const NOTHING_KNOWN: Models = {
  models: [],
  prefixes: [],
  projects: [],
  default: { model: "", why: "", worker_model: null, budget_usd: null, project: null },
  next_after: null,
};

export default function NewAgentForm() {
  const models = useLoaded("models", listModels);
  const { create, problem, fields, isBusy } = useCreation();
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("finite");
  const [typedProject, setProject] = useState(remembered("project"));
  const known = models.state === "ready" ? models.value : NOTHING_KNOWN;
  const { models: listed, default: standard } = known;
  const id = model || standard.model;
  const chosen = listed.find((each) => each.id === id);
  // The demo has nothing to do without one; any other model is shown a folder only if a person types it.
  const project = typedProject ?? (id.startsWith("demo/") ? standard.project : null) ?? "";

  return (
    <Dialog title="New agent" onClose={closeOverlay}>
      <form onSubmit={create} onKeyDown={submitOnCtrlEnter} className="space-y-4">
        <GoalField fields={fields} />
        <Field label="Folder it may read" name="project" fields={fields}>
          <input
            name="project"
            value={project}
            onChange={(event) => setProject(event.target.value)}
            placeholder={`${standard.project ?? "/home/you/project"}, or none`}
            spellCheck={false}
            className={FIELD}
            {...described(fields, "project")}
          />
        </Field>
        <WriteField fields={fields} usual={mayWriteIn(known.projects, project)} />
        <ModelFields fields={fields} known={known} onChoose={setModel} />
        {chosen ? (
          <ModelNote model={chosen} why={model ? "" : standard.why} />
        ) : (
          model !== "" && <TypedNote id={model} />
        )}
        <LimitFields fields={fields} budget={standard.budget_usd} mode={mode} onMode={setMode} />
        {mode === "infinite" && <CycleFields fields={fields} />}
        <Field label="Tools" name="tools" fields={fields}>
          <input
            name="tools"
            placeholder="all, or only some: read_file, web_fetch"
            spellCheck={false}
            className={FIELD}
            {...described(fields, "tools")}
          />
        </Field>
        <FormEnd problem={problem}>
          <span className="mr-auto hidden text-xs text-dim sm:inline">Ctrl+Enter starts it</span>
          <button type="submit" disabled={isBusy} className={ACTION}>
            {isBusy ? "Starting…" : "Start agent"}
          </button>
        </FormEnd>
      </form>
    </Dialog>
  );
}

function submitOnCtrlEnter({ key, ctrlKey, metaKey, currentTarget }: KeyboardEvent<HTMLFormElement>): void {
  if (key === "Enter" && (ctrlKey || metaKey)) currentTarget.requestSubmit();
}

type FieldProblems = ApiError["fields"];

/** Creates the agent that the form describes, once, and goes to it; otherwise says what is wrong with which field. */
function useCreation() {
  const [problem, setProblem] = useState("");
  const [fields, setFields] = useState<FieldProblems>({});
  const [isBusy, setBusy] = useState(false);
  const isUnderWay = useRef(false);
  const create = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // Ctrl+Enter that is held down, or pressed twice, is one wish.
    if (isUnderWay.current) return;
    const form = event.currentTarget;
    const said = new FormData(form);
    const text = (name: string) => String(said.get(name) ?? "").trim();
    const ordered = orderOf(text);
    setProblem("");
    setFields("problems" in ordered ? ordered.problems : {});
    if ("problems" in ordered) {
      focusFirst(form, ordered.problems);
      return;
    }
    isUnderWay.current = true;
    setBusy(true);
    try {
      const made = await give({ do: "create", ...ordered.order });
      keep("project", text("project") || null);
      keep("draft.goal", null);
      closeOverlay();
      go({ screen: "entity", agent: made.id, worker: "coordinator" }, { at: null });
      await agents.refresh();
    } catch (error) {
      isUnderWay.current = false;
      setBusy(false);
      const at = error instanceof ApiError ? error.fields : {};
      setFields(at);
      // What none of the fields can say is said below them.
      if (!focusFirst(form, at)) setProblem(error instanceof Error ? error.message : String(error));
    }
  };

  return { create, problem, fields, isBusy };
}

/** The draft is kept until the agent is created. */
function GoalField({ fields }: { fields: FieldProblems }) {
  return (
    <Field label="Goal" name="goal" fields={fields}>
      <textarea
        name="goal"
        required
        rows={4}
        data-first
        defaultValue={remembered("draft.goal") ?? ""}
        onChange={(event) => keep("draft.goal", event.target.value || null)}
        placeholder="What should be true when it is done? Say it as you would to a colleague."
        className={`${FIELD} py-2`}
        {...described(fields, "goal")}
      />
    </Field>
  );
}

/** As config.json says of the folder, until the person says otherwise. */
function WriteField({ fields, usual }: { fields: FieldProblems; usual: boolean }) {
  const [chosen, choose] = useState<boolean | null>(null);
  return (
    <div>
      <label className="flex min-h-11 items-center gap-2 text-[13px] font-semibold md:min-h-9">
        <input
          type="checkbox"
          name="write"
          checked={chosen ?? usual}
          onChange={(event) => choose(event.target.checked)}
          className="size-4 shrink-0 accent-accent"
          {...described(fields, "write", true)}
        />
        May change this repository
      </label>
      <FieldProblem fields={fields} of="write" />
      <Hint
        of="write"
        text="In copies of its own, on a branch of its own, which you review. Your files stay as they are."
      />
    </div>
  );
}

interface ModelFieldsProps {
  fields: FieldProblems;
  known: Models;
  onChoose: (id: string) => void;
}

function ModelFields({ fields, known: { models: listed, prefixes, default: standard }, onChoose }: ModelFieldsProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <ModelSelect
        name="model"
        label="Model"
        models={listed}
        prefixes={prefixes}
        standard={standard.model || "chosen for you"}
        fields={fields}
        onChoose={onChoose}
      />
      <ModelSelect
        name="worker_model"
        label="Model for its workers"
        models={listed}
        prefixes={prefixes}
        standard={standard.worker_model ?? "the same"}
        fields={fields}
      />
    </div>
  );
}

interface LimitFieldsProps {
  fields: FieldProblems;
  /** The default of config.json. */
  budget: number | null;
  mode: string;
  onMode: (mode: string) => void;
}

function LimitFields({ fields, budget, mode, onMode }: LimitFieldsProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <Field label="Name" name="name" fields={fields}>
        <input
          name="name"
          maxLength={80}
          placeholder="from the goal"
          className={FIELD}
          {...described(fields, "name")}
        />
      </Field>
      <Field label="Budget in USD" name="budget_usd" fields={fields}>
        <input
          name="budget_usd"
          type="number"
          min="0.01"
          step="0.01"
          placeholder={budget === null ? "no limit" : `${budget}, from config.json`}
          className={FIELD}
          {...described(fields, "budget_usd")}
        />
      </Field>
      <label className={LABEL}>
        Mode
        <select name="mode" className={FIELD} value={mode} onChange={(event) => onMode(event.target.value)}>
          <option value="finite">until it is done</option>
          <option value="infinite">until you stop it</option>
        </select>
      </label>
    </div>
  );
}

/** What only an infinite agent has. */
function CycleFields({ fields }: { fields: FieldProblems }) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Every" name="cycle_seconds" fields={fields} hint="How long it sleeps between cycles.">
        <input
          name="cycle_seconds"
          placeholder="e.g. 30s, 10m, 2h, 1d"
          className={FIELD}
          {...described(fields, "cycle_seconds", true)}
        />
      </Field>
      <Field
        label="Watch"
        name="watch"
        fields={fields}
        hint="Wakes it only when this changes: an address, a path in its folder, or cmd: a command."
      >
        <input
          name="watch"
          placeholder="e.g. https://example.com/news"
          spellCheck={false}
          className={FIELD}
          {...described(fields, "watch", true)}
        />
      </Field>
    </div>
  );
}

/** Goes to the first field that is wrong. False where one of them is not in the form. */
function focusFirst(form: HTMLFormElement, problems: FieldProblems): boolean {
  const wrong = Object.keys(problems).map((field) => form.elements.namedItem(field));
  if (wrong.length === 0 || wrong.includes(null)) return false;
  if (wrong[0] instanceof HTMLElement) wrong[0].focus();
  return true;
}
