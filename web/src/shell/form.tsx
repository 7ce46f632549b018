import type { ReactNode } from "react";

/** The style of form fields. */
export const LABEL = "block text-[13px] font-semibold";
export const FIELD = "mt-1 w-full rounded-md border border-line bg-page px-2.5 text-sm font-normal min-h-11 md:min-h-9";
export const ACTION =
  "min-h-11 rounded-md bg-accent px-4 font-semibold text-on-accent hover:opacity-90 disabled:opacity-60 md:min-h-9";

/** The end of a form in a dialog, visible however long the form is: the problem, and the button. */
export function FormEnd({ problem, children }: { problem: string; children: ReactNode }) {
  return (
    <div className="sticky bottom-0 -mx-4 -mb-4 space-y-3 border-t border-line bg-page px-4 py-3">
      <Problem text={problem} />
      <div className="flex items-center justify-end gap-3">{children}</div>
    </div>
  );
}

/** The problem that the server, or the page, reports. */
export function Problem({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <p role="alert" className="rounded-md bg-bad-tint px-3 py-2 text-[13px] text-bad [overflow-wrap:anywhere]">
      {text}
    </p>
  );
}

type FieldProblems = Readonly<Record<string, string>>;

/** Attributes of the field itself: that it is invalid, and which element says why, or what it is for. */
export function described(fields: FieldProblems, name: string, hasHint = false) {
  const isWrong = fields[name] !== undefined;
  const by = [isWrong ? `wrong-${name}` : "", hasHint ? `hint-${name}` : ""].filter(Boolean).join(" ");
  return { ...(isWrong && { "aria-invalid": true }), ...(by && { "aria-describedby": by }) };
}

/** The problem of one field, below it. */
export function FieldProblem({ fields, of }: { fields: FieldProblems; of: string }) {
  const problem = fields[of];
  if (problem === undefined) return null;
  return (
    <p id={`wrong-${of}`} role="alert" className="mt-1 text-[13px] text-bad [overflow-wrap:anywhere]">
      {problem}
    </p>
  );
}

export function Field(props: {
  label: string;
  name: string;
  fields: FieldProblems;
  hint?: string;
  children: ReactNode;
}) {
  return (
    <div>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is what is put into it */}
      <label className={LABEL}>
        {props.label}
        {props.children}
      </label>
      <FieldProblem fields={props.fields} of={props.name} />
      {props.hint && <Hint of={props.name} text={props.hint} />}
    </div>
  );
}

/** What a field is for, below it. */
export function Hint({ of, text }: { of: string; text: string }) {
  return (
    <p id={`hint-${of}`} className="mt-1 text-xs text-dim">
      {text}
    </p>
  );
}
