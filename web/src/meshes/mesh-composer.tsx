import { useState } from "react";
import { give, type MeshView } from "../live/api.ts";
import { remembered } from "../shell/memo.ts";
import { MESSAGE_FRAME, MessageField, MessageForm, SendButton, useDraft } from "../shell/message-field.tsx";

/** Writes a message file: to the mesh as a whole, or to one of its agents. */
export function MeshComposer({ project, mesh, member }: { project: string; mesh: MeshView; member: string | null }) {
  const draft = `draft.${project}.${mesh.mesh}.${member ?? ""}`;
  const [text, change] = useDraft(draft);
  const [type, setType] = useState<"task" | "ask">("task");
  const [said, setSaid] = useState<{ words: string; isProblem: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const name = member ?? mesh.mesh;
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
    <MessageForm onSubmit={submit}>
      <p
        role="status"
        className={`min-h-5 text-xs [overflow-wrap:anywhere] ${said?.isProblem ? "text-bad" : "text-dim"}`}
      >
        {said?.words}
      </p>
      <div className={MESSAGE_FRAME}>
        <select
          aria-label="Kind of message"
          value={type}
          onChange={(event) => setType(event.target.value === "ask" ? "ask" : "task")}
          className="min-h-11 shrink-0 rounded-md bg-transparent px-1 text-[13px] md:min-h-9"
        >
          <option value="task">Task</option>
          <option value="ask">Question</option>
        </select>
        <MessageField
          rows={Math.min(8, text.split("\n").length)}
          text={text}
          to={name}
          placeholder={`${type === "task" ? "A task for" : "A question to"} ${name}…`}
          onChange={change}
          onEnter={submit}
        />
        <SendButton disabled={text.trim() === "" || isBusy} />
      </div>
    </MessageForm>
  );
}
