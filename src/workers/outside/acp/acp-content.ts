import { z } from "zod";
import { isEmpty } from "./acp-request.ts";
import type { WireCall, WireContent } from "./acp-wire.ts";

/** More of one text than this is not kept. */
export const MAX_CONTENT_CHARS = 50_000;

/** At most so much of a text; a cut says so. */
export function clippedContent(text: string): string {
  return text.length > MAX_CONTENT_CHARS ? `${text.slice(0, MAX_CONTENT_CHARS)}\n(cut here)` : text;
}

export function contentText(content: WireContent): string {
  if (typeof content.text === "string") return content.text;
  return content.uri ? `[${content.type}: ${content.uri}]` : `[${content.type}]`;
}

const MOST_STEPS = 20;

export function planText(steps: Parameters<typeof planned>[0][]): string {
  const more = steps.length > MOST_STEPS ? `; and ${steps.length - MOST_STEPS} more steps` : "";
  return `Its plan: ${steps.slice(0, MOST_STEPS).map(planned).join("; ")}${more}`;
}

function planned({ content, status }: { content: string; status?: string | null | undefined }): string {
  const step = content.length > 200 ? `${content.slice(0, 200)}…` : content;
  return status ? `${step} (${status.slice(0, 40).replaceAll("_", " ")})` : step;
}

/** A change names only what has changed. The first title stays: agents put results into later ones. */
export function mergedCall(before: WireCall, change: WireCall): WireCall {
  const given = Object.entries(change).filter(([, value]) => value !== undefined && value !== null);
  const all: WireCall = { ...before, ...Object.fromEntries(given), title: before.title ?? change.title };
  return isEmpty(change.rawInput) ? { ...all, rawInput: before.rawInput } : all;
}

/** What it was called with; an agent that does not say so tells at least what it touches. */
export function argsOf({ rawInput, title, locations, content, status }: WireCall): unknown {
  if (!isEmpty(rawInput)) return small(rawInput);
  // Until the call is over this is about what goes in; then it is what came out.
  const isOver = status === "completed" || status === "failed";
  const shown = isOver ? [] : (content ?? []).flatMap((part) => part.content?.text ?? []);
  const diffs = (content ?? []).filter(({ type }) => type === "diff");
  const paths = locations?.map(({ path }) => path) ?? [];
  return small({
    ...(title ? { title } : {}),
    ...(paths.length > 0 ? { paths } : {}),
    ...(shown.length > 0 ? { shown: shown.join("\n") } : {}),
    ...(diffs.length > 0 ? { changes: diffs.map(({ path, newText }) => ({ path, content: newText })) } : {}),
  });
}

function small(args: unknown): unknown {
  const json = JSON.stringify(args);
  return json.length > MAX_CONTENT_CHARS ? { cut: json.slice(0, MAX_CONTENT_CHARS) } : args;
}

/** What a command wrote since the last update of its call, and how it ended, where that is beside the protocol's fields. */
export function outputOf({ _meta }: WireCall): string {
  const output = terminalSchema.safeParse(_meta ?? {}).data;
  const code = output?.terminal_exit?.exit_code;
  return `${output?.terminal_output_delta?.data ?? ""}${code ? `Exit code ${code}.` : ""}`;
}

const terminalSchema = z.looseObject({
  terminal_output_delta: z.looseObject({ data: z.string() }).optional().catch(undefined),
  terminal_exit: z.looseObject({ exit_code: z.number().nullish() }).optional().catch(undefined),
});

export function resultOf({ content, rawOutput }: WireCall): string {
  const shown = (content ?? []).flatMap((part) => {
    if (part.type === "content" && part.content) return contentText(part.content);
    return part.type === "diff" && part.path ? `Changed ${part.path}` : [];
  });
  if (shown.length > 0) return clippedContent(shown.join("\n"));
  return isEmpty(rawOutput)
    ? ""
    : clippedContent(typeof rawOutput === "string" ? rawOutput : JSON.stringify(rawOutput));
}
