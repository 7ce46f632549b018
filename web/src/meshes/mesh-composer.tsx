import { SendHorizontal } from "lucide-react";
import { useState } from "react";
import { give, type MeshView } from "../live/api.ts";
import { foot } from "../shell/foot.ts";
import { keep, remembered } from "../shell/memo.ts";

/** Writes a message file: to the mesh as a whole, or to one of its agents. */
export function MeshComposer({ project, mesh, member }: { project: string; mesh: MeshView; member: string | null }) {
  const draft = `draft.${project}.${mesh.mesh}.${member ?? ""}`;
  const [text, setText] = useState(() => remembered(draft) ?? "");
  const [type, setType] = useState<"task" | "ask">("task");
  const [said, setSaid] = useState<{ words: string; isProblem: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const name = member ?? mesh.mesh;
  const change = (next: string) => {
    setText(next);
    keep(draft, next === "" ? null : next);
  };
  const submit = () => {
    const words = text.trim();
    if (words === "" || isBusy) return;
    setBusy(true);
    give({ do: "send_to_mesh", id: project, mesh: mesh.mesh, to: member, type, text: words })
      .then(
        (sent) => {
          // What was typed meanwhile is the next message.
          if (remembered(draft) === text) change("");
          setSaid({ words: `Written as ${sent.name}.`, isProblem: false });
        },
        (error: unknown) => setSaid({ words: error instanceof Error ? error.message : String(error), isProblem: true }),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form
      ref={foot}
      className="shrink-0 px-3 pt-1 pb-3 md:px-5"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <p
        role="status"
        className={`min-h-5 text-xs [overflow-wrap:anywhere] ${said?.isProblem ? "text-bad" : "text-dim"}`}
      >
        {said?.words}
      </p>
      <div className="flex items-end gap-1 rounded-lg border border-line bg-page p-1 focus-within:border-accent">
        <select
          aria-label="What it is"
          value={type}
          onChange={(event) => setType(event.target.value === "ask" ? "ask" : "task")}
          className="min-h-11 shrink-0 rounded-md bg-transparent px-1 text-[13px] md:min-h-9"
        >
          <option value="task">Task</option>
          <option value="ask">Question</option>
        </select>
        <textarea
          data-composer
          rows={text.split("\n").length > 1 ? Math.min(8, text.split("\n").length) : 1}
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            submit();
          }}
          aria-label={`Message to ${name}`}
          placeholder={`${type === "task" ? "A task for" : "A question to"} ${name}…`}
          className="min-h-11 min-w-0 flex-1 resize-none bg-transparent px-2 py-2.5 outline-none md:min-h-9 md:py-1.5"
        />
        <button
          type="submit"
          disabled={text.trim() === "" || isBusy}
          aria-label="Send"
          className="grid size-11 shrink-0 place-items-center rounded-md bg-accent text-on-accent disabled:bg-hover disabled:text-dim md:size-9"
        >
          <SendHorizontal className="size-4" aria-hidden />
        </button>
      </div>
    </form>
  );
}
