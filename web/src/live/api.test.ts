import { afterEach, expect, test, vi } from "vitest";
import { textOfFile } from "./api.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("the beginning of a file ends with a whole character", async () => {
  const whole = new TextEncoder().encode("10 €");
  vi.stubGlobal("fetch", async (_: string, { headers }: { headers: Record<string, string> }) => {
    const most = Number(/bytes=0-(\d+)/.exec(headers.range ?? "")?.[1]) + 1;
    const range = `bytes 0-${Math.min(most, whole.length) - 1}/${whole.length}`;
    return new Response(whole.slice(0, most), { status: 206, headers: { "content-range": range } });
  });
  expect(await textOfFile("/a.txt", 5)).toEqual({ text: "10 ", bytes: 6, isCut: true });
  expect(await textOfFile("/a.txt", 6)).toEqual({ text: "10 €", bytes: 6, isCut: false });
});
