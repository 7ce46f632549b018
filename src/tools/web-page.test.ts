import { expect, test } from "vitest";
import { readablePage } from "./web-page.ts";

const signal = new AbortController().signal;
const page = (html: string) => ({
  url: "https://site.test/",
  status: 200,
  contentType: "text/html",
  body: Buffer.from(html),
  cut: false,
});

test("a page that takes too long is given up", async () => {
  await expect(readablePage(page("<p>hi"), signal, { timeoutMs: 1, memoryMb: 512 })).rejects.toThrow(
    "https://site.test/ was fetched, but its page could not be read: it took more than 0.001 s.",
  );
});

test("a page that takes all memory ends its reader and not us", async () => {
  const heavy = page("<div><p>x</p></div>".repeat(200_000));
  await expect(readablePage(heavy, signal, { timeoutMs: 20_000, memoryMb: 24 })).rejects.toThrow(
    /could not be read: .*memory/,
  );
});

test("a page nested beyond all reason is read or refused, and we go on", async () => {
  const deep = await readablePage(page(`${"<div>".repeat(50_000)}end`), signal, {
    timeoutMs: 1_500,
    memoryMb: 512,
  }).then(
    ({ text }) => text,
    (error: Error) => error.message,
  );
  expect(deep).toMatch(/end|could not be read/);
});

test("a stop ends the reading", async () => {
  const stop = new AbortController();
  const reading = readablePage(page("<p>hi"), stop.signal);
  stop.abort(new Error("stop"));
  await expect(reading).rejects.toThrow("stop");
});
