import { expect, test } from "vitest";
import { type Loaded, Loader } from "./loader.ts";

const ready = (value: string): Loaded<string> => ({ state: "ready", value });
const failed = (problem: string): Loaded<string> => ({ state: "failed", problem });

test("PAGE-LOAD-1: what comes slower than it changes is shown all the same, and then once more", async () => {
  const { loader, shown, request, answer } = started();
  loader.load(request("first"));
  loader.load(request("second"));
  loader.load(request("third"));
  expect(await answer("first")).toEqual([ready("first")]);
  expect(await answer("third")).toEqual([ready("first"), ready("third")]);
  loader.load(request("fourth"));
  await answer("fourth");
  expect(shown).toEqual([ready("first"), ready("third"), ready("fourth")]);
});

test("PAGE-LOAD-2: what failed is loaded again when the server is back, and not before", async () => {
  const { loader, shown, request, answer, refuse, reopen, change } = started();
  loader.load(request("a"));
  await refuse("a", "No answer.");
  change();
  expect(shown).toEqual([failed("No answer.")]);
  reopen();
  await answer("a");
  // Back and away again: for what is loaded nobody listens any more.
  reopen();
  expect(shown).toEqual([failed("No answer."), ready("a")]);
});

test("PAGE-LOAD-2: the server may be back before the failure is known", async () => {
  const { loader, shown, request, answer, refuse, reopen } = started();
  loader.load(request("a"));
  reopen();
  await refuse("a", "No answer.");
  await answer("a");
  expect(shown).toEqual([failed("No answer."), ready("a")]);
});

test("PAGE-LOAD-2: what was asked over a lost connection is not waited for, nor shown if it comes after all", async () => {
  const { loader, shown, request, answer, reopen } = started();
  loader.load(request("old"));
  reopen();
  loader.load(request("new"));
  await answer("new");
  await answer("old");
  expect(shown).toEqual([ready("new")]);
});

test("PAGE-LOAD-3: after its end nothing is shown and nothing loaded", async () => {
  const { loader, shown, request, answer, refuse, reopen, asked } = started();
  loader.load(request("a"));
  loader.load(request("b"));
  loader.end();
  await answer("a");
  expect([shown, asked]).toEqual([[], ["a"]]);
  const other = started();
  other.loader.load(other.request("c"));
  await other.refuse("c", "No answer.");
  other.loader.end();
  other.reopen();
  reopen();
  await refuse("b", "");
  expect([other.shown, other.asked]).toEqual([[failed("No answer.")], ["c"]]);
});

/** A loader whose requests are answered by the test, each by its name. */
function started() {
  const shown: Loaded<string>[] = [];
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<string>>();
  const listeners = new Set<() => void>();
  const server = {
    opened: 1,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const loader = new Loader<string>({ show: (loaded) => shown.push(loaded), server });
  const change = () => {
    for (const listener of [...listeners]) listener();
  };
  const settled = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    return shown;
  };
  return {
    loader,
    shown,
    asked,
    change,
    request: (name: string) => () => {
      asked.push(name);
      const reply = Promise.withResolvers<string>();
      open.set(name, reply);
      return reply.promise;
    },
    answer: (name: string) => {
      open.get(name)?.resolve(name);
      return settled();
    },
    refuse: (name: string, problem: string) => {
      open.get(name)?.reject(new Error(problem));
      return settled();
    },
    reopen: () => {
      server.opened += 1;
      change();
    },
  };
}
