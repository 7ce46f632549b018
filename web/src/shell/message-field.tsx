import { SendHorizontal } from "lucide-react";
import { type ReactNode, type RefObject, useState } from "react";
import { foot } from "./foot.ts";
import { keep, remembered } from "./memo.ts";

/** What is being written; it is kept until it is sent. */
export function useDraft(key: string): [text: string, change: (next: string) => void] {
  const [text, setText] = useState(() => remembered(key) ?? "");
  const change = (next: string) => {
    setText(next);
    keep(key, next === "" ? null : next);
  };
  return [text, change];
}

/** The form at the foot of a screen: Enter sends, Shift+Enter begins a line. */
export function MessageForm({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      ref={foot}
      className="shrink-0 px-3 pt-1 pb-3 md:px-5"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** The frame around the field and what stands beside it. */
export const MESSAGE_FRAME =
  "flex items-end gap-1 rounded-lg border border-line bg-page p-1 focus-within:border-accent";

export function MessageField({
  text,
  rows,
  to,
  placeholder,
  onChange,
  onEnter,
  field,
}: {
  text: string;
  rows: number;
  to: string;
  placeholder: string;
  onChange: (next: string) => void;
  onEnter: (withAlt: boolean) => void;
  field?: RefObject<HTMLTextAreaElement | null>;
}) {
  return (
    <textarea
      {...(field && { ref: field })}
      data-composer
      rows={rows}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onEnter(event.altKey);
      }}
      aria-label={`Message to ${to}`}
      placeholder={placeholder}
      className="min-h-11 min-w-0 flex-1 resize-none bg-transparent px-2 py-2.5 outline-none md:min-h-9 md:py-1.5"
    />
  );
}

export function SendButton({ disabled }: { disabled: boolean }) {
  return (
    <button
      type="submit"
      disabled={disabled}
      aria-label="Send"
      className="grid size-11 shrink-0 place-items-center rounded-md bg-accent text-on-accent disabled:bg-hover disabled:text-dim md:size-9"
    >
      <SendHorizontal className="size-4" aria-hidden />
    </button>
  );
}
