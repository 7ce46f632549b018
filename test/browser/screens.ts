import type { Page, Route as Request } from "playwright-core";
import type { MeshProjectView } from "../../src/protocol/api/meshes.ts";
import type { ViewState } from "../../web/src/live/view.ts";
import type { PageRoute } from "../../web/src/shell/address.ts";
import type { Overlay, PageState, Toast } from "../../web/src/shell/shown.ts";
import { AGAIN, CHOICES, INSIGHT } from "./chip-team.ts";
import { CONNECTIONS, TOASTS } from "./screens-apart.ts";
import type { Town } from "./town.ts";
import { ASSESSMENT, GOALS } from "./town-script.ts";

/** Something that a person can have before their eyes. */
export interface Scene {
  /** The name of its pictures, and of its test. */
  name: string;
  /** Where in the page it is. */
  path: (town: Town) => string;
  /** Words that are in sight when it is there, and for as long as it is looked at. */
  ready: string;
  /** What one does there before it is to be seen. */
  act?: (page: Page, town: Town) => Promise<unknown>;
  /** What is otherwise than usual. Such a scene has a browser of its own. */
  before?: (page: Page, town: Town) => Promise<unknown>;
  /** At one width only, where there is no such thing at the other. */
  width?: Width;
}
export type Width = 1440 | 390;
export type Scenes = readonly [Scene, ...Scene[]];

/**
 * Every screen of the page and everything that can lie over it. What the page's own types tell apart has a scene here, or
 * this does not compile: whoever adds a screen, an overlay, a tone of toast, a state of the connection adds what it looks
 * like.
 */
export interface Screens {
  screen: Record<PageRoute["screen"], Scenes>;
  overlay: Record<Exclude<Overlay, "none">, Scenes>;
  toast: Record<Toast["tone"], Scenes>;
  page: Record<PageState, Scenes>;
  agent: Record<ViewState, Scenes>;
}

const click = (page: Page, role: "button" | "link" | "combobox", name: string | RegExp) =>
  page.getByRole("main").getByRole(role, { name }).first().click();
const unfold = (page: Page, words: string) => page.getByRole("main").locator("summary", { hasText: words }).click();
const write = (page: Page, words: string) => page.locator("[data-composer]").fill(words);

const home: Scenes = [
  { name: "home", path: () => "/ui/", ready: "agent-torn" },
  { name: "home-put-away", path: () => "/ui/", ready: "Restore", act: (page) => unfold(page, "archived agent") },
];

const entity: Scenes = [
  { name: "coordinator", path: ({ at }) => at.chips, ready: "Alice finished node-1" },
  {
    name: "coordinator-results-so-far",
    path: ({ at }) => at.chips,
    ready: "node-1/bench.ts",
    act: (page) => unfold(page, "Results so far"),
  },
  { name: "coordinator-finished", path: ({ at }) => at.finished, ready: "All files" },
  { name: "coordinator-stages", path: ({ at }) => at.staged, ready: ASSESSMENT },
  { name: "coordinator-asleep", path: ({ at }) => at.asleep, ready: "asleep until" },
  { name: "coordinator-stopped", path: ({ at }) => at.resting, ready: "Stopped. Write to continue." },
  { name: "coordinator-paused", path: ({ at }) => at.paused, ready: "Paused" },
  { name: "coordinator-broke", path: ({ at }) => at.broke, ready: "The budget is spent" },
  { name: "coordinator-refused", path: ({ at }) => at.refused, ready: "invalid x-api-key" },
  { name: "coordinator-unreachable", path: ({ at }) => at.unreachable, ready: "The far model does not answer." },
  { name: "coordinator-new", path: ({ at }) => at.waiting, ready: "Sort the letters of the archive." },
  {
    name: "coordinator-writing",
    path: ({ at }) => at.chips,
    ready: "@everyone Two hours are left.",
    act: (page) => write(page, "@everyone Two hours are left.\nThen we meet."),
  },
  { name: "demo", path: ({ at }) => at.demo, ready: "Demo." },
  { name: "worker", path: ({ at }) => `${at.chips}/workers/alice`, ready: "The numbers are stable." },
  {
    name: "worker-tool-opened",
    path: ({ at }) => `${at.chips}/workers/alice`,
    ready: "Failed",
    act: (page) => click(page, "button", /missing\.md/),
  },
  {
    name: "worker-spec",
    path: ({ at }) => `${at.chips}/workers/bob`,
    ready: "node-2 on the board",
    act: (page) => unfold(page, "Measure chip B"),
  },
  {
    name: "worker-failed",
    path: ({ at }) => `${at.staged}/workers/emil`,
    ready: "invalid x-api-key",
    act: (page) => page.getByPlaceholder("Retired: the coordinator reads this…").waitFor(),
  },
  { name: "question", path: ({ at }) => `${at.chips}/workers/bob`, ready: CHOICES[0] ?? "" },
  { name: "question-leave", path: ({ at }) => `${at.leave}/workers/gus`, ready: "always allow exactly this command" },
  { name: "question-answered", path: ({ at }) => `${at.finished}/workers/bob`, ready: "You answered:" },
  { name: "worker-nobody", path: ({ at }) => `${at.chips}/workers/zoe`, ready: "Nobody named zoe" },
];

const board: Scenes = [
  { name: "board", path: ({ at }) => `${at.chips}/board`, ready: "Write the comparison" },
  { name: "board-finished", path: ({ at }) => `${at.finished}/board`, ready: "3 of 3 nodes done" },
  { name: "board-stages", path: ({ at }) => `${at.staged}/board`, ready: "Delivery and everything" },
  { name: "board-empty", path: ({ at }) => `${at.waiting}/board`, ready: "No work yet." },
  { name: "board-alone", path: ({ at }) => `${at.demo}/board`, ready: "The coordinator did it alone" },
  { name: "node", path: ({ at }) => `${at.chips}/board/node-1`, ready: "Alice published node-1" },
  { name: "node-pending", path: ({ at }) => `${at.chips}/board/node-3`, ready: "node-1/published/report.md" },
  { name: "node-asking", path: ({ at }) => `${at.chips}/board/node-2`, ready: "needs you" },
  {
    name: "node-cancel",
    path: ({ at }) => `${at.chips}/board/node-2`,
    ready: "Its files are kept.",
    act: (page) => click(page, "button", "Cancel this node"),
  },
  { name: "node-failed", path: ({ at }) => `${at.staged}/board/node-2`, ready: "Why it failed" },
];

const changes: Scenes = [
  { name: "changes-none", path: ({ at }) => `${at.chips}/changes`, ready: "This agent may not change a repository." },
];

const timeline: Scenes = [
  { name: "timeline", path: ({ at }) => `${at.chips}/timeline`, ready: "Who worked when" },
  { name: "timeline-begun", path: ({ at }) => `${at.waiting}/timeline`, ready: "idle time, shortened" },
];

const triggers: Scenes = [
  { name: "triggers", path: ({ at }) => `${at.chips}/triggers`, ready: AGAIN },
  { name: "triggers-resting", path: ({ at }) => `${at.resting}/triggers`, ready: "nothing fires until it is resumed" },
  { name: "triggers-empty", path: ({ at }) => `${at.waiting}/triggers`, ready: "Nothing is planned." },
  {
    name: "trigger-new",
    path: ({ at }) => `${at.chips}/triggers`,
    ready: "What it should do",
    act: (page) => click(page, "button", "Add"),
  },
  {
    name: "trigger-on-change",
    path: ({ at }) => `${at.chips}/triggers`,
    ready: "Address, path or command",
    act: async (page) => {
      await click(page, "button", "Add");
      await page.getByRole("dialog").getByLabel("When").selectOption("on_change");
    },
  },
  {
    name: "trigger-cancel",
    path: ({ at }) => `${at.chips}/triggers`,
    ready: "Keep it",
    act: (page) => click(page, "button", "Cancel trigger-1"),
  },
  {
    name: "trigger-refused",
    path: ({ at }) => `${at.chips}/triggers`,
    ready: "whenever you like",
    act: async (page) => {
      await click(page, "button", "Add");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("What it should do").fill("Measure again");
      await dialog.getByLabel("When").selectOption("scheduled");
      await dialog.getByLabel("Cron").fill("whenever you like");
      await dialog.getByRole("button", { name: "Add trigger" }).click();
      await dialog.getByRole("alert").waitFor();
    },
  },
];

const inRun = (name: string) => (town: Town) => `${town.at.chips}/files/runs/run-1/${name}`;

const files: Scenes = [
  { name: "files", path: ({ at }) => `${at.chips}/files`, ready: "runs" },
  { name: "files-markdown", path: inRun("nodes/node-1/published/report.md"), ready: "80 TOPS" },
  {
    name: "files-source",
    path: inRun("nodes/node-1/published/report.md"),
    ready: "**80 TOPS**",
    act: (page) => click(page, "button", "Source"),
  },
  { name: "files-code", path: inRun("nodes/node-1/published/bench.ts"), ready: "measure" },
  { name: "files-picture", path: inRun("chip.png"), ready: "chip.png" },
  { name: "files-binary", path: inRun("firmware.bin"), ready: "This is not text" },
  { name: "files-nothing-in-it", path: inRun("nothing.txt"), ready: "The file is empty." },
  { name: "files-cut", path: inRun("measurements.csv"), ready: "only the beginning is shown" },
  { name: "files-missing", path: inRun("gone.md"), ready: "There is no file" },
  { name: "files-empty", path: ({ at }) => `${at.waiting}/files`, ready: "run" },
];

const search = async (page: Page, words: string) => {
  await page.getByLabel("Search the memory").fill(words);
  await page.keyboard.press("Enter");
};

const memory: Scenes = [
  { name: "memory", path: ({ at }) => `${at.chips}/memory/knowledge/chips.md`, ready: "A and B are compared." },
  {
    name: "memory-insight",
    path: ({ at }) => `${at.chips}/memory`,
    ready: "8 % high",
    act: (page) => unfold(page, INSIGHT),
  },
  {
    name: "memory-found",
    path: ({ at }) => `${at.chips}/memory`,
    ready: "1 passage",
    act: (page) => search(page, "compared"),
  },
  {
    name: "memory-not-found",
    path: ({ at }) => `${at.chips}/memory`,
    ready: "Nothing found.",
    act: (page) => search(page, "zebra"),
  },
  { name: "memory-empty", path: ({ at }) => `${at.waiting}/memory`, ready: "MEMORY.md" },
];

/** As if a program had asked something in its terminal. */
const withDialog = async (route: Request) => {
  const response = await route.fetch();
  const project = (await response.json()) as MeshProjectView;
  for (const { agents } of project.meshes) for (const agent of agents) agent.state ??= "dialog";
  await route.fulfill({ response, json: project });
};

const mesh: Scenes = [
  { name: "mesh", path: (town) => town.mesh.review, ready: "Send again" },
  {
    name: "mesh-done",
    path: (town) => town.mesh.tour,
    ready: "Files of the project",
    act: (page) => click(page, "button", /files\.md.*by counter/),
  },
  { name: "mesh-idle", path: (town) => town.mesh.research, ready: "Nothing has arrived yet." },
  { name: "mesh-agent", path: (town) => `${town.mesh.review}/fixer`, ready: "fixer works." },
  { name: "mesh-agent-not-begun", path: (town) => `${town.mesh.research}/searcher-broad`, ready: "has not started" },
  { name: "mesh-agent-unable", path: (town) => `${town.mesh.research}/synthesiser`, ready: "cannot start." },
  {
    name: "mesh-message",
    path: (town) => `${town.mesh.review}/fixer`,
    ready: "Handoff from reviewer to fixer",
    act: (page) => click(page, "button", /task from review\/reviewer/),
  },
  {
    name: "mesh-writing",
    path: (town) => town.mesh.review,
    ready: "Review the readers too.",
    act: (page) => write(page, "Review the readers too.\nThey read the same file."),
  },
  {
    name: "mesh-agent-dialog",
    path: (town) => `${town.mesh.research}/synthesiser`,
    ready: "has a dialog open",
    before: (page) => page.route("**/meshes/agent-*", withDialog),
  },
  { name: "mesh-stopped", path: (town) => town.mesh.stopped, ready: "The meshes of this project are stopped." },
  { name: "mesh-missing", path: (town) => `${town.mesh.review}-nowhere`, ready: "There is no mesh" },
];

const press = (key: string) => async (page: Page) => {
  await page.keyboard.press(key);
  await page.getByRole("dialog").waitFor();
};

const overlay: Screens["overlay"] = {
  sidebar: [
    {
      name: "menu",
      path: ({ at }) => at.chips,
      ready: "Timeline",
      act: (page) => page.getByRole("button", { name: "Agents" }).click(),
      width: 390,
    },
  ],
  palette: [
    { name: "palette", path: ({ at }) => at.chips, ready: "All agents", act: press("Control+k") },
    {
      name: "palette-nothing",
      path: ({ at }) => at.chips,
      ready: "Nothing found.",
      act: async (page) => {
        await press("Control+k")(page);
        await page.keyboard.type("zebra");
      },
    },
  ],
  shortcuts: [{ name: "keys", path: ({ at }) => at.chips, ready: "find anything", act: press("?") }],
  new_agent: [
    { name: "new-agent", path: () => "/ui/", ready: "per million tokens", act: press("n") },
    {
      name: "new-agent-infinite",
      path: () => "/ui/",
      ready: "Wakes it only when this changes",
      act: async (page) => {
        await press("n")(page);
        await page.locator("[name=mode]").selectOption("infinite");
      },
    },
    {
      name: "new-agent-wrong-fields",
      path: () => "/ui/",
      ready: "is outside /home/me/shop",
      act: async (page) => {
        await press("n")(page);
        await page.getByLabel("Goal").fill("Watch the shop.");
        await page.getByLabel("Folder it may read").fill("/home/me/shop");
        await page.locator("[name=mode]").selectOption("infinite");
        await page.getByLabel("Every").fill("soon");
        await page.locator("[name=watch]").fill("/etc/passwd");
        await page.getByRole("button", { name: "Start agent" }).click();
      },
    },
    {
      name: "new-agent-refused",
      path: () => "/ui/",
      ready: "There is no folder /nowhere/at/all",
      act: async (page) => {
        await press("n")(page);
        await page.getByLabel("Goal").fill("Survey a folder that is not there.");
        await page.getByLabel("Folder it may read").fill("/nowhere/at/all");
        await page.getByRole("button", { name: "Start agent" }).click();
      },
    },
  ],
  more_money: [
    {
      name: "more-money",
      path: ({ at }) => at.broke,
      ready: "Budget in USD",
      act: (page) => click(page, "button", "Resume"),
    },
    {
      name: "more-money-refused",
      path: ({ at }) => at.broke,
      ready: "is too low",
      act: async (page) => {
        await click(page, "button", "Resume");
        await page.getByLabel("Budget in USD").fill("0.10");
        await page.getByRole("button", { name: "Continue" }).click();
      },
    },
  ],
};

const agent: Screens["agent"] = {
  ...CONNECTIONS.agent,
  live: [
    {
      name: "coordinator-saying",
      path: () => "/ui/",
      ready: "A heat pump moves heat",
      // Words are heard by whoever is there while they are said.
      act: async (page, { house }) => {
        const { log } = await house.create({ goal: GOALS.saying, name: "How it works" });
        await page.goto(`/ui/agents/${log.id}`);
        await page.getByRole("log").getByText(GOALS.saying).waitFor();
        house.provider.release("saying");
      },
    },
  ],
  gone: [{ name: "gone", path: () => "/ui/agents/agent-none", ready: "There is no agent" }],
  replay: [
    { name: "replay", path: ({ at }) => `${at.chips}?at=20`, ready: "You are looking at the past." },
    { name: "replay-board", path: ({ at }) => `${at.chips}/board?at=30`, ready: "Measure chip A" },
    { name: "replay-timeline", path: ({ at }) => `${at.chips}/timeline?at=30`, ready: "Who worked when" },
    { name: "replay-files", path: ({ at }) => `${at.chips}/files?at=30`, ready: "Published files are exactly" },
    { name: "replay-memory", path: ({ at }) => `${at.chips}/memory?at=30`, ready: "The memory is shown as it is now" },
    { name: "replay-triggers", path: ({ at }) => `${at.chips}/triggers?at=3`, ready: "Nothing is planned." },
  ],
};

export const SCREENS: Screens = {
  screen: { home, entity, board, changes, timeline, triggers, files, memory, mesh },
  overlay,
  toast: TOASTS,
  page: CONNECTIONS.page,
  agent,
};
