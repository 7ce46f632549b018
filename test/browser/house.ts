import { accessSync, constants, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { FastifyInstance } from "fastify";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { vi } from "vitest";
import { createSurveyor } from "../../src/demo/surveyor.ts";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import type { NewAgent } from "../../src/runtime/agent-order.ts";
import { liveSettings } from "../../src/runtime/config/live-config.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import type { Runtime, RuntimePorts } from "../../src/runtime/runtime.ts";
import { buildServer } from "../../src/server/server.ts";
import {
  type ProviderServer,
  type ProviderServerOptions,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";

// A browser beside the rest of the suite has to share the machine: what fails here fails by what it shows, not by time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const ROOT = resolve(import.meta.dirname, "../..");
const CHROMIUM = "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const MORE_FLAGS = ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

/** Where pictures of the screens are left, for people to look at. */
export const PICTURES = resolve(ROOT, ".scratch/screens");

/** Whether there is a browser to test with; `npm test` installs one where it may. */
export const hasChromium = isThere(CHROMIUM);

export const MODEL = "anthropic/claude-sonnet-4-5";

/** The real server with a real home, the page as it is built, and models that say what a test wants. */
export interface House extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** The folder that everything of its agents is in. */
  readonly home: string;
  readonly provider: ProviderServer;
  readonly runtime: Runtime;
  readonly app: FastifyInstance;
  create(order: Partial<NewAgent> & { goal: string }): Promise<Agent>;
  /** A browser of its own that is logged in. What goes wrong in it is kept. */
  page(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** What pages complained of, on their consoles or as errors. */
  readonly complaints: string[];
  /** The server is started again, with another token. */
  renewToken(): Promise<void>;
  /** Cuts every socket, as a network does. */
  dropSockets(): void;
}

export interface HouseOptions {
  /** In place of the providers' addresses and keys. */
  env?: Readonly<Record<string, string>>;
  isPatient?: boolean;
  /** In place of the programs of this machine. */
  outside?: RuntimePorts["outside"];
}

export async function openHouse(script: ProviderServerOptions, options: HouseOptions = {}): Promise<House> {
  const home = await temporaryHome();
  const provider = await startProviderServer(script);
  const env = options.env ?? { ...provider.env, PATH: process.env.PATH ?? "" };
  const settings = liveSettings({ home: home.path, env, config: {} });
  const runtime = await openRuntime(settings, {
    ...(options.isPatient && { catalog: patientCatalog(env) }),
    ...(options.outside && { outside: options.outside }),
  });
  let token = "token-of-the-house-for-tests-only-0123456789";
  const build = () => buildServer({ runtime, settings, token, webDir: resolve(ROOT, "dist/web"), folder: home.path });
  let app = await build();
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const complaints: string[] = [];
  let browser: Promise<Browser> | undefined;

  async function page(path = "/ui/", options: BrowserContextOptions = {}): Promise<Page> {
    browser ??= chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...MORE_FLAGS] });
    const context = await (await browser).newContext({
      baseURL: url,
      viewport: { width: 1440, height: 900 },
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(60_000);
    const tab = await context.newPage();
    tab.on("pageerror", (error) => complaints.push(error.message));
    tab.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    // Without the page: loading it twice is most of what a short test costs.
    await context.request.get(`/login?once=${app.credentials.newLink().once}`, { maxRedirects: 0 });
    await tab.goto(path);
    return tab;
  }

  return {
    url,
    get token() {
      return token;
    },
    home: home.path,
    provider,
    runtime,
    get app() {
      return app;
    },
    complaints,
    page,
    renewToken: async () => {
      await app.close();
      token = `another-${token}`;
      app = await build();
      await app.listen({ port: Number(new URL(url).port), host: "127.0.0.1" });
    },
    create: (order) => runtime.create({ model: MODEL, ...order }),
    dropSockets: () => {
      for (const client of app.websocketServer.clients) client.terminate();
    },
    [Symbol.asyncDispose]: async () => {
      await (await browser)?.close();
      await app.close();
      await runtime.close();
      await provider.close();
      await home.remove();
    },
  };
}

/** A picture of the page for people, beside the test's verdict. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: resolve(PICTURES, `${name}.png`) });
}

/** Models that nobody gives up: one that is silent is waited for, and one that failed is about to be asked again, for ever. */
function patientCatalog(env: Readonly<Record<string, string>>): ReturnType<typeof createCatalog> {
  let tries = 0;
  const sleep = (_: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      // Once at once: who has been tried twice in vain is in trouble, and everybody is to see it.
      if (tries++ === 0) return resolve();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  const demo = async () => createSurveyor();
  return createCatalog({ env, config: {}, random: Math.random, sleep, stallMs: 86_400_000, demo });
}

function isThere(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
