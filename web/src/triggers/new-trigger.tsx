import { type FormEvent, useState } from "react";
import { type ConditionType, watchedFrom } from "../../../src/protocol/index.ts";
import { give } from "../live/api.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, FIELD, FormEnd, Hint, LABEL } from "../shell/form.tsx";

interface Field {
  says: string;
  name: string;
  type: "number" | "datetime-local" | "text";
  /** How it may look, said to be an example: grey alone reads as filled in. */
  example: string;
  hint?: string;
  /** What is sent for what was typed. */
  value: (typed: string) => string | number;
}

const minutes = (says: string, name: string): Field => ({
  says,
  name,
  type: "number",
  example: "30",
  value: (typed) => Number(typed) * 60,
});
const text = (says: string, name: string, example: string): Field => ({
  says,
  name,
  type: "text",
  example,
  value: (typed) => typed,
});

/** The label of each type of condition, and its one field. */
const CONDITIONS: Record<ConditionType, { says: string; field: Field }> = {
  delayed: { says: "once, after a delay", field: minutes("Minutes from now", "delay_seconds") },
  at_time: {
    says: "once, at a time",
    field: { says: "Date and time", name: "at", type: "datetime-local", example: "", value: (typed) => typed },
  },
  scheduled: {
    says: "repeatedly, by calendar",
    field: { ...text("Cron", "cron", "0 9 * * MON"), hint: "Minute, hour, day, month, weekday." },
  },
  heartbeat: {
    says: "repeatedly, if anything is new",
    field: minutes("Every so many minutes", "interval_seconds"),
  },
  on_event: { says: "when something happens", field: text("Which fact", "event_pattern", "node.completed") },
  on_idle: { says: "when nothing happens", field: minutes("For so many minutes", "idle_seconds") },
  on_change: {
    says: "when something changes",
    field: {
      ...text("Address, path or command", "path", "https://example.com/news"),
      hint: "Checked every five minutes. A path is one in its workspace, such as project/a.txt; a command begins with cmd: and runs in the sandbox.",
    },
  },
};
const TYPES = Object.keys(CONDITIONS) as ConditionType[];

export function NewTriggerForm({ agent, onClose }: { agent: string; onClose: () => void }) {
  const [type, setType] = useState<ConditionType>("delayed");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { field } = CONDITIONS[type];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    const said = new FormData(event.currentTarget);
    const typed = String(said.get("value") ?? "").trim();
    const config = type === "on_change" ? watchedFrom(typed) : { [field.name]: field.value(typed) };
    setBusy(true);
    give({
      do: "create_trigger",
      id: agent,
      type,
      config,
      action: String(said.get("action") ?? ""),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }).then(onClose, (error: unknown) => {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    });
  };
  return (
    <Dialog title="New trigger" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <label className={LABEL}>
          What it should do
          <textarea
            name="action"
            required
            rows={3}
            data-first
            placeholder="Survey the docs again; say what changed."
            className={`${FIELD} py-2`}
          />
        </label>
        <ConditionFields type={type} onType={setType} />
        <FormEnd problem={problem}>
          <button type="submit" disabled={isBusy} className={ACTION}>
            Add trigger
          </button>
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** When it happens: the kind of condition, and its one field. */
function ConditionFields({ type, onType }: { type: ConditionType; onType: (type: ConditionType) => void }) {
  const { field } = CONDITIONS[type];
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <label className={LABEL}>
        When
        <select
          value={type}
          onChange={(event) => onType(TYPES.find((each) => each === event.target.value) ?? "delayed")}
          className={FIELD}
        >
          {TYPES.map((each) => (
            <option key={each} value={each}>
              {CONDITIONS[each].says}
            </option>
          ))}
        </select>
      </label>
      <div>
        <label className={LABEL}>
          {field.says}
          <input
            key={type}
            name="value"
            required
            type={field.type}
            placeholder={field.example && `e.g. ${field.example}`}
            {...(field.type === "number" && { min: "0.1", step: "any" })}
            {...(field.hint && { "aria-describedby": "hint-value" })}
            className={FIELD}
          />
        </label>
        {field.hint && <Hint of="value" text={field.hint} />}
      </div>
    </div>
  );
}
