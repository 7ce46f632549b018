import { ShieldQuestion } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { DEADLINE, HUMAN } from "../../../src/protocol/index.ts";
import { MessageBlock } from "../entity/message-block.tsx";
import type { StreamItem } from "../entity/stream-item.ts";
import { agents } from "../live/agents.ts";
import { give } from "../live/api.ts";
import { keep, remembered } from "../shell/memo.ts";
import { useRoute } from "../shell/route.ts";
import { clockTime } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible, visibleLines } from "../text/visible.ts";

/** A question: the choices have the keys 1–9, and free text is allowed unless the answer must be a choice. */
export function QuestionCard({ agent, item }: { agent: string; item: Item }) {
  const { question, answer, isOver } = item;
  const { at } = useRoute();
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState<string | null>(null);
  const isOpen = answer === null && !isOver;
  // A card that is scrolled out of sight is taken out of the page; what was begun in it is not.
  const draft = `draft.${agent}.${question.question_id}`;
  const [text, setText] = useState(() => remembered(draft) ?? "");
  const change = (next: string) => {
    setText(next);
    keep(draft, next === "" ? null : next);
  };
  useEffect(() => {
    if (!isOpen) keep(draft, null);
  }, [isOpen, draft]);

  const reply = (text: string) => {
    if (text.trim() === "" || sent !== null) return;
    setSent(text);
    setProblem("");
    give({ do: "respond", id: agent, question_id: question.question_id, response: text }).then(
      () => agents.refresh(),
      (error: unknown) => {
        setSent(null);
        setProblem(error instanceof Error ? error.message : String(error));
      },
    );
  };
  return (
    <MessageBlock agent={agent} {...askerOf(question)} ts={item.ts}>
      <section
        aria-label={question.permission ? "Permission request" : "Question"}
        data-question={isOpen && at === null ? question.question_id : undefined}
        className={`mt-1 rounded-lg border p-3 ${isOpen ? "border-wait/60 bg-wait-tint" : "border-line bg-raised"}`}
      >
        <QuestionText question={question} />
        {isOpen && at === null && sent === null && (
          <AnswerForm question={question} text={text} onChange={change} onReply={reply} />
        )}
        {isOpen && sent !== null && <p className="mt-2 text-[13px] text-dim">Answering: {visibleLines(sent)}</p>}
        {problem && (
          <p role="alert" className="mt-2 text-bad">
            {problem}
          </p>
        )}
        <End answer={answer} isOver={isOver} />
      </section>
    </MessageBlock>
  );
}

type Item = Extract<StreamItem, { kind: "question" }>;
type AskedQuestion = Item["question"];

function QuestionText({ question }: { question: AskedQuestion }) {
  if (question.permission) return <PermissionRequest text={question.text} />;
  if (question.only_choices)
    return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{visibleLines(question.text)}</p>;
  return <Markdown text={question.text} />;
}

interface AnswerFormProps {
  question: AskedQuestion;
  text: string;
  onChange: (text: string) => void;
  onReply: (text: string) => void;
}

function AnswerForm({ question, text, onChange, onReply }: AnswerFormProps) {
  const choices = question.choices ?? [];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onReply(text);
  };

  return (
    <>
      {choices.length > 0 && (
        <div className="mt-3 flex flex-wrap gap-2">
          {choices.map((choice, index) => (
            <button
              type="button"
              // biome-ignore lint/suspicious/noArrayIndexKey: two of the same words are two buttons
              key={index}
              data-choice={index + 1}
              onClick={() => onReply(choice)}
              className="flex min-h-11 items-center gap-2 rounded-md border border-line bg-page px-3 text-left hover:bg-hover md:min-h-9"
            >
              {index < 9 && (
                <kbd className="rounded border border-line px-1.5 font-mono text-xs text-dim">{index + 1}</kbd>
              )}
              <span className="[overflow-wrap:anywhere]">{visible(choice)}</span>
            </button>
          ))}
        </div>
      )}
      <form onSubmit={submit} className="mt-3 flex gap-2">
        <input
          name="answer"
          value={text}
          onChange={(event) => onChange(event.target.value)}
          autoComplete="off"
          aria-label="Your answer"
          placeholder={hintFor(question)}
          className="min-h-11 min-w-0 flex-1 rounded-md border border-line bg-page px-2.5 md:min-h-9"
        />
        <button type="submit" className="min-h-11 rounded-md bg-accent px-3 font-semibold text-on-accent md:min-h-9">
          Answer
        </button>
      </form>
      <p className="mt-2 text-xs text-dim">{deadlineWords(question)}</p>
    </>
  );
}

/** The answer, or that nobody waits for one any more. */
function End({ answer, isOver }: Pick<Item, "answer" | "isOver">) {
  return (
    <>
      {answer && (
        <p className="mt-2 text-[13px] [overflow-wrap:anywhere]">
          <span className="font-semibold text-ok">{answer.channel === DEADLINE ? "By default" : "You answered"}:</span>{" "}
          {visibleLines(answer.text)}
        </p>
      )}
      {!answer && isOver && <p className="mt-2 text-[13px] text-dim">No longer open.</p>}
    </>
  );
}

/**
 * Permission is given to exactly these words, so they are never read as markdown: a command would look otherwise than it
 * runs. What a program wrote stands in boxes, what we say of it between them; no question of a model looks like this.
 */
function PermissionRequest({ text }: { text: string }) {
  return (
    <>
      <p className="mb-2 flex items-center gap-1.5 text-xs font-semibold text-wait">
        <ShieldQuestion aria-hidden size={14} /> Permission request, written by Agiraph
      </p>
      {passagesOf(text).map(({ isQuoted, lines }, index) =>
        isQuoted ? (
          <pre
            // biome-ignore lint/suspicious/noArrayIndexKey: they never change
            key={index}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
            tabIndex={0}
            className="my-1 max-h-96 overflow-auto whitespace-pre-wrap rounded border border-line bg-page px-2 py-1 font-mono text-[13px] [overflow-wrap:anywhere]"
          >
            {lines.join("\n")}
          </pre>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: they never change
          <p key={index} className="whitespace-pre-wrap [overflow-wrap:anywhere]">
            {lines.join("\n")}
          </p>
        ),
      )}
    </>
  );
}

/** Lines that begin with a bar are the program's. */
function passagesOf(text: string): { isQuoted: boolean; lines: string[] }[] {
  const passages: { isQuoted: boolean; lines: string[] }[] = [];
  for (const line of visibleLines(text).split("\n")) {
    const isQuoted = line.startsWith("│");
    const last = passages.at(-1);
    const shown = isQuoted ? line.slice(2) : line;
    if (last?.isQuoted === isQuoted) last.lines.push(shown);
    else passages.push({ isQuoted, lines: [shown] });
  }
  return passages;
}

interface AskedBy {
  worker_id: string;
  permission?: object | undefined;
  mesh_trust?: { mesh: string } | undefined;
}

/** A node of one's own is put before them by nobody in the team. */
function askerOf({ worker_id, permission, mesh_trust }: AskedBy): { from: string; note: string } {
  // About the mesh, by us: none of its agents may seem to speak for it.
  if (mesh_trust) return { from: "agiraph", note: `asks whether you trust the mesh ${mesh_trust.mesh}` };
  if (worker_id === HUMAN) return { from: "agiraph", note: "your work" };
  return { from: worker_id, note: permission ? "asks for permission" : "asks you" };
}

function hintFor({
  choices = [],
  only_choices = false,
}: {
  choices?: string[] | undefined;
  only_choices?: boolean | undefined;
}): string {
  if (choices.length === 0) return "Your answer";
  return only_choices ? "or “no, because …”" : "or in your own words";
}

function deadlineWords({
  deadline_ts,
  default: fallback,
}: {
  deadline_ts?: number | undefined;
  default?: string | undefined;
}): string {
  if (deadline_ts === undefined) return "";
  const otherwise = fallback === undefined ? "" : `; after that, “${visible(fallback)}” counts as the answer`;
  return `Until ${clockTime(deadline_ts)}${otherwise}.`;
}
