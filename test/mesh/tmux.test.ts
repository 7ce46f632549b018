import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { within } from "../../src/testing/within.ts";
import { load, Terminals, withTmux } from "./terminals.ts";

const never = new AbortController().signal;

withTmux(
  "100 of 100 arrive exactly once under load, with several lines and all kinds of messages",
  {
    timeout: 120_000,
  },
  async () => {
    await using terminals = new Terminals();
    using _ = load(2);
    // As real messages do, they end alike, and some are taller than the screen.
    const words = (who: number, at: number) =>
      [
        `[tx] message ${who}-${at}.`,
        `[tx] message ${who}-${at}.\n\nÜber «Σίσυφος», 漢字, 🎉👩‍💻 and e\u0301.\n    indented 'quotes' "$HOME" \`x\` #{pane} \\n\nlast line ${at}`,
        `[tx] message ${who}-${at}: ${"a long line ".repeat(60)}`,
        `[tx] message ${who}-${at}.\n\n(Then go on with what you were doing.)`,
        `[tx] message ${who}-${at}.\n${"one of many lines\n".repeat(50)}(Then go on with what you were doing.)`,
      ][at % 5]?.trim() ?? "";
    const heard = await Promise.all(
      [1, 2, 3, 4].map(async (who) => {
        const { session, taken } = await terminals.reader(`mesh-a${who}`);
        for (let at = 1; at <= 25; at++) await session.say(words(who, at), `message ${who}-${at}`, never);
        // Keys come in order: what is late would be before this.
        await session.say("the end", "the end", never);
        return taken();
      }),
    );
    const said = [1, 2, 3, 4].map((who) => [...Array.from({ length: 25 }, (_, at) => words(who, at + 1)), "the end"]);
    expect(heard).toEqual(said);
  },
);

withTmux("what is swallowed is said again, and still arrives once", { timeout: 120_000 }, async () => {
  await using terminals = new Terminals();
  const { session, taken } = await terminals.reader("mesh-deaf", { deafEvery: 1 });
  for (const text of ["one", "two\nlines", "three"]) await session.say(text, text, never);
  expect(taken()).toEqual(["one", "two\nlines", "three"]);
});

withTmux("who is so slow that it is said again gets it once all the same", { timeout: 120_000 }, async () => {
  await using terminals = new Terminals();
  const { session, taken } = await terminals.reader("mesh-slow", { slowMs: 6000 });
  await session.say("one\nafter the other", "one", never);
  await session.say("then this", "then", never);
  expect(taken()).toEqual(["one\nafter the other", "then this"]);
});

withTmux("nothing in a text is a key", { timeout: 120_000 }, async () => {
  await using terminals = new Terminals();
  const { session, taken } = await terminals.reader("mesh-safe");
  await session.say("a\x1b[201~\x03\rb\x15c\x1b[200~\td", "c", never);
  expect(taken()).toEqual(["a[201~\nbc[200~    d"]);
});

withTmux(
  "nothing at all is typed into a dialog, also under an older prompt; answered, it gets the text, marked, once",
  { timeout: 120_000 },
  async () => {
    await using terminals = new Terminals();
    const screens = ["approve-command", "approve-edit", "trust", "sign-in", "news"];
    await Promise.all(
      screens.map(async (screen) => {
        const { session, answer, keys } = await terminals.player(`mesh-${screen}`, `codex-${screen}`);
        const said = session.say("two\nlines", "two", never);
        await terminals.until(`mesh-${screen}`, "dialog");
        answer();
        await said;
        expect([screen, keys().join("")]).toEqual([screen, "answered\x1b[200~two\rlines\x1b[201~\r"]);
      }),
    );
  },
);

withTmux(
  "a person who sits before it and looks back in its history does not keep words from coming",
  {
    timeout: 120_000,
  },
  async () => {
    await using terminals = new Terminals();
    const { session, taken } = await terminals.reader("mesh-a");
    await terminals.until("mesh-a", "ready");
    const tmux = (...words: string[]) => execFileSync("tmux", ["-S", terminals.server.socket, ...words]);
    tmux("copy-mode", "-t", "=mesh-a:");
    await session.say("while you look", "while", never);
    expect(taken()).toEqual(["while you look"]);
  },
);

withTmux(
  "a program that ends is noticed within 5 s, and so is a terminal that is closed",
  { timeout: 120_000 },
  async () => {
    await using terminals = new Terminals();
    const [ended, closed] = [await terminals.reader("mesh-ended"), await terminals.reader("mesh-closed")];
    await Promise.all([terminals.until("mesh-ended", "ready"), terminals.until("mesh-closed", "ready")]);
    const noticed = within(
      5000,
      Promise.all([terminals.until("mesh-ended", "dead"), terminals.until("mesh-closed", "gone")]),
    );
    await terminals.server.kill("mesh-closed");
    execFileSync("tmux", ["-S", terminals.server.socket, "send-keys", "-t", "=mesh-ended:", "C-c"]);
    await noticed;
    await expect(ended.session.say("x", "x", never)).rejects.toThrow("mesh-ended has ended.");
    await expect(closed.session.say("x", "x", never)).rejects.toThrow("mesh-closed has ended.");
  },
);
