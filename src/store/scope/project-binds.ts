import { realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { layOut, type ProjectLayout, type ProjectPart } from "./project-layout.ts";
import { ProjectSurvey } from "./project-survey.ts";

/** The user's folder without its dot names and without our home, for the sandbox. */
export interface ProjectBinds {
  hide: string[];
  laidOut: LaidOutProject[];
  omitted: string[];
}

/** An empty read-only folder in place of a real one, with some of its entries bound into it. */
export interface LaidOutProject {
  /** Real, without links on the way. */
  at: string;
  parts: ProjectPart[];
}

/** What must not be seen is never bound (project-layout.ts). A project inside our home is not shown at all. */
export async function projectBinds(project: string | null, home: string): Promise<ProjectBinds> {
  const nothing = { hide: [], laidOut: [], omitted: [] };
  if (project === null || !statSync(project, { throwIfNoEntry: false })?.isDirectory()) return nothing;
  const [root, ours] = [realpathSync(project), realpathSync(home)];
  if (`${root}${sep}`.startsWith(`${ours}${sep}`)) return nothing;
  const hide = ours.startsWith(`${root}${sep}`) ? [ours] : [];
  const { parts, omitted } = await viewOf(root, ours).look();
  return { hide, laidOut: [{ at: root, parts }], omitted };
}

/** What is known of a project is shared by everybody who works on it. */
const views = new Map<string, ProjectView>();
const MOST_VIEWS = 8;

function viewOf(root: string, home: string): ProjectView {
  const key = `${root}\0${home}`;
  const view = views.get(key) ?? new ProjectView(root, home);
  // The one that was asked for longest ago is first, and goes first.
  views.delete(key);
  views.set(key, view);
  for (const [oldest] of views) if (views.size > MOST_VIEWS) views.delete(oldest);
  return view;
}

/** One look at a time. It may have missed what changed since: callers that ask meanwhile share the next one. */
class ProjectView {
  readonly #root: string;
  readonly #survey: ProjectSurvey;
  #current: Promise<ProjectLayout> | undefined;
  #next: Promise<ProjectLayout> | undefined;

  constructor(root: string, home: string) {
    this.#root = root;
    this.#survey = new ProjectSurvey(root, home);
  }

  look(): Promise<ProjectLayout> {
    if (!this.#current) return this.#begin();
    this.#next ??= this.#current
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<ProjectLayout> {
    const looking = this.#survey
      .look()
      .then((top) => layOut(this.#root, top))
      .finally(() => {
        if (this.#current === looking) this.#current = undefined;
      });
    this.#current = looking;
    return looking;
  }
}
