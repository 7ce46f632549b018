import type { Page } from "playwright-core";
import type { Screens } from "./screens.ts";
import { GOALS, ROOM } from "./town-script.ts";

/** Scenes in which something is otherwise than usual: each has a browser of its own, so that the others do not notice. */

/** Toasts go by themselves after a while, and people look longer than that. */
const STILL = `{
  const soon = window.setTimeout;
  window.setTimeout = (run, ms, ...more) => (ms >= 8000 ? 0 : soon(run, ms, ...more));
}`;
const still = (page: Page) => page.addInitScript(STILL);

/** Every socket that the page opens can be cut from outside, as a network does. */
const CUTTABLE = `{
  const all = (window.sockets = []);
  window.WebSocket = class extends WebSocket {
    constructor(...how) { super(...how); all.push(this); }
  };
}`;

/** Before the page knows its agents it would not be lost, but never have begun. */
async function cut(page: Page): Promise<void> {
  await listed(page);
  await page.context().setOffline(true);
  await page.evaluate("for (const socket of window.sockets) socket.close()");
}

const listed = (page: Page) => page.getByRole("navigation", { name: "Agents" }).getByText("Archive").waitFor();

/** An answer that never comes. */
const hold = (address: string) => (page: Page) => page.route(address, () => {});

/** A socket that opens, and on which nothing is ever said. */
const mute = (address: RegExp) => (page: Page) => page.routeWebSocket(address, () => {});

export const TOASTS: Screens["toast"] = {
  plain: [
    {
      name: "toast-deleted",
      path: ({ at }) => at.card,
      ready: "Birthday card was archived.",
      before: still,
      act: (page) => page.getByRole("button", { name: "Archive", exact: true }).click(),
    },
  ],
  wait: [
    {
      name: "toast-question",
      path: () => "/ui/",
      ready: `Coordinator asks: ${ROOM}`,
      before: still,
      act: async (page, { house }) => {
        await listed(page);
        await house.create({ goal: GOALS.urgent, name: "Workshop" });
      },
    },
  ],
  bad: [
    {
      name: "toast-refused",
      path: ({ at }) => at.chips,
      ready: "The disk is full.",
      before: async (page) => {
        await still(page);
        await page.route("**/pause", (route) =>
          route.fulfill({ status: 507, json: { error: { code: "disk_full", message: "The disk is full." } } }),
        );
      },
      act: (page) => page.getByRole("button", { name: "Pause" }).click(),
    },
  ],
};

export const CONNECTIONS: { page: Screens["page"]; agent: Pick<Screens["agent"], "loading" | "lost"> } = {
  page: {
    loading: [{ name: "page-loading", path: () => "/ui/", ready: "Loading…", before: hold("**/agents?*") }],
    ready: [
      {
        name: "welcome",
        path: () => "/ui/",
        ready: "Give an agent a goal",
        before: nobodyIsHere,
      },
    ],
    locked: [
      { name: "locked", path: () => "/ui/", ready: "Log in to open this page", before: forget },
      { name: "locked-spent", path: () => "/login?once=spent", ready: "This link was already used", before: forget },
      {
        name: "locked-refused",
        path: () => "/ui/",
        ready: "The token is wrong.",
        before: forget,
        act: async (page) => {
          await page.getByLabel(/paste the token/).fill("wrong");
          await page.getByRole("button", { name: "Open" }).click();
        },
      },
      {
        name: "locked-out",
        path: ({ at }) => at.chips,
        ready: "Your login is no longer valid",
        // In a browser of its own: the others stay logged in.
        before: listedLater,
        act: async (page) => {
          await listed(page);
          await forget(page);
          await page.evaluate("dispatchEvent(new Event('focus'))");
        },
      },
    ],
    unreachable: [
      {
        name: "unreachable",
        path: () => "/ui/",
        ready: "this page reconnects by itself",
        before: (page) => page.route("**/agents?*", (route) => route.abort()),
      },
    ],
  },
  agent: {
    loading: [
      { name: "loading", path: ({ at }) => at.chips, ready: "Loading", before: mute(/agents\/[^/]+\/events/) },
      {
        name: "loading-board",
        path: ({ at }) => `${at.chips}/board`,
        ready: "Loading",
        before: mute(/agents\/[^/]+\/events/),
      },
      {
        name: "loading-replay",
        path: ({ at }) => `${at.chips}?at=5`,
        ready: "Loading",
        before: hold("**/events?after=*"),
      },
      {
        name: "loading-files",
        path: ({ at }) => `${at.chips}/files`,
        ready: "Loading…",
        before: hold("**/workspace?*"),
        // How many there are is not known yet.
        act: (page) => page.getByText("0 files").waitFor({ state: "detached" }),
      },
    ],
    lost: [
      {
        name: "lost",
        path: ({ at }) => at.chips,
        ready: "The connection is lost",
        before: (page) => page.addInitScript(CUTTABLE),
        act: async (page) => {
          await page.getByText("I set up a team of three").waitFor();
          await cut(page);
        },
      },
      {
        name: "lost-home",
        path: () => "/ui/",
        ready: "The connection is lost",
        before: (page) => page.addInitScript(CUTTABLE),
        act: cut,
      },
      {
        name: "not-sent",
        path: ({ at }) => at.chips,
        ready: "Try again",
        before: (page) => page.route("**/send", (route) => route.abort()),
        act: async (page) => {
          await page.locator("[data-composer]").fill("Also compare the power.");
          await page.keyboard.press("Enter");
        },
      },
    ],
  },
};

/** Nothing is otherwise before it has come. */
async function listedLater(): Promise<void> {}

/** A browser that has never been here. */
async function forget(page: Page): Promise<void> {
  await page.context().clearCookies();
}

/** The page of a house in which nobody lives yet. */
async function nobodyIsHere(page: Page): Promise<void> {
  await page.route("**/agents?*", (route) => route.fulfill({ json: { agents: [], unreadable: [], next_after: null } }));
  await page.route("**/inbox?*", (route) => route.fulfill({ json: { items: [], next_after: null } }));
  await page.route("**/meshes?*", (route) => route.fulfill({ json: { projects: [], next_after: null } }));
}
