import { ChevronDown, FileDown, GitMerge, GitPullRequest } from "lucide-react";
import { type FormEvent, type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { type AcceptOrder, accept, patchAddress, type RepositoryView } from "../live/repository-api.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, FIELD, FormEnd, LABEL } from "../shell/form.tsx";
import { complain, toast } from "../shell/overlay.ts";
import { useRest } from "../shell/rest.ts";
import { visible } from "../text/visible.ts";
import { useSubmission } from "./use-submission.ts";

interface AcceptProps {
  agent: string;
  repository: RepositoryView;
}

/** Accepting puts the branch into the person's repository and changes nothing else; the menu has what goes further. */
export function AcceptMenu({ agent, repository }: AcceptProps) {
  const [asked, ask] = useState<"merge" | "pr" | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isDone = repository.delivered.some(({ commit }) => commit === repository.tip);
  const [isResting, pressed] = useRest(repository.tip);
  const take = () => {
    if (isResting || isBusy) return;
    pressed();
    setBusy(true);
    accept(agent, { how: "branch" })
      .then(({ detail }) => toast("plain", detail), complain)
      .finally(() => setBusy(false));
  };
  return (
    <div className="flex shrink-0">
      <button
        type="button"
        onClick={take}
        aria-disabled={isResting || isBusy}
        title={`Put ${visible(repository.branch)} into your repository. Nothing else there changes.`}
        className="min-h-11 rounded-l-md bg-accent px-3 text-[13px] font-semibold text-on-accent hover:opacity-90 aria-disabled:opacity-60 md:min-h-8"
      >
        {isDone ? "Accept again" : "Accept"}
      </button>
      <MoreWays agent={agent} choose={ask} />
      {asked && <AcceptDialog agent={agent} repository={repository} how={asked} onClose={() => ask(null)} />}
    </div>
  );
}

/** What goes further than the branch, as a menu. */
function MoreWays({ agent, choose }: { agent: string; choose: (how: "merge" | "pr") => void }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (how: "merge" | "pr") => {
    if (menu.current) menu.current.open = false;
    choose(how);
  };
  const press = (event: KeyboardEvent<HTMLDetailsElement>) => {
    if (event.key !== "Escape" || !event.currentTarget.open) return;
    event.stopPropagation();
    event.currentTarget.open = false;
    event.currentTarget.querySelector("summary")?.focus();
  };
  return (
    <details
      ref={menu}
      className="relative"
      onKeyDown={press}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
    >
      <summary
        aria-label="Other ways to accept"
        className="grid min-h-11 min-w-11 place-items-center rounded-r-md border-l border-on-accent/40 bg-accent text-on-accent hover:opacity-90 md:min-h-8 md:min-w-8"
      >
        <ChevronDown className="size-4" aria-hidden />
      </summary>
      <div className="absolute top-full right-0 z-20 mt-1 w-80 max-w-[85vw] rounded-lg border border-line bg-page p-1 shadow-lg">
        <MenuItem Icon={GitMerge} onClick={() => close("merge")}>
          Merge into the checked-out branch…
        </MenuItem>
        <MenuItem Icon={GitPullRequest} onClick={() => close("pr")}>
          Open a pull request…
        </MenuItem>
        <a href={patchAddress(agent, null)} download={`${agent}.patch`} className={ITEM}>
          <FileDown className="size-4 shrink-0 text-dim" aria-hidden /> Download as a patch
        </a>
      </div>
    </details>
  );
}

const ITEM = "flex min-h-11 w-full items-center gap-2 rounded-md px-2 text-left text-[13px] hover:bg-hover md:min-h-9";

function MenuItem({ Icon, onClick, children }: { Icon: typeof GitMerge; onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" onClick={onClick} className={ITEM}>
      <Icon className="size-4 shrink-0 text-dim" aria-hidden /> {children}
    </button>
  );
}

/** What changes more than one branch: the dialog says so first. */
function AcceptDialog({ agent, repository, how, onClose }: AcceptProps & { how: "merge" | "pr"; onClose: () => void }) {
  const { problem, isBusy, submit } = useSubmission();
  const branch = visible(repository.branch);
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const order = orderOf(how, new FormData(event.currentTarget));
    submit(() => accept(agent, order), onClose);
  };
  return (
    <Dialog title={how === "merge" ? "Merge into the checked-out branch" : "Open a pull request"} onClose={onClose}>
      <form onSubmit={send} className="space-y-4">
        {how === "merge" ? (
          <p className="text-[13px]">
            <strong className="font-mono text-xs">{branch}</strong> is merged into the branch that is checked out in{" "}
            <span className="font-mono text-xs [overflow-wrap:anywhere]">{visible(repository.source)}</span>, and its
            files change. If there are changes that are not committed, or a conflict, nothing is touched.
          </p>
        ) : (
          <PullRequestFields branch={branch} />
        )}
        <FormEnd problem={problem}>
          <button type="submit" disabled={isBusy} data-first={how === "merge" ? "" : undefined} className={ACTION}>
            {how === "merge" ? "Merge" : "Push and open"}
          </button>
        </FormEnd>
      </form>
    </Dialog>
  );
}

function PullRequestFields({ branch }: { branch: string }) {
  return (
    <>
      <p className="text-[13px]">
        <strong className="font-mono text-xs">{branch}</strong> is pushed to the remote, and <code>gh</code> opens the
        pull request.
      </p>
      <label className={LABEL}>
        Title
        <input name="title" data-first maxLength={200} className={FIELD} placeholder="from the goal if left empty" />
      </label>
      <label className={LABEL}>
        Remote
        <input name="remote" maxLength={200} className={FIELD} placeholder="origin" />
      </label>
    </>
  );
}

function orderOf(how: "merge" | "pr", fields: FormData): AcceptOrder {
  const given = (name: string) => String(fields.get(name) ?? "").trim();
  const [title, remote] = [given("title"), given("remote")];
  return { how, ...(title !== "" && { title }), ...(remote !== "" && { remote }) };
}
