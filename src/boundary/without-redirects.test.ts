import { expect, test } from "vitest";
import { RedirectRefused, redirectIn, withoutRedirects } from "./without-redirects.ts";

const FROM = "https://api.example.com/v1/messages?key=secret";

test("the error names where a redirect points, and no path or query of another origin", () => {
  const refused = (location: string | null) => redirectIn(307, location, FROM, "EXAMPLE_BASE_URL")?.message;
  expect(refused("https://other.example/path?echo=secret")).toBe(
    "https://api.example.com redirects to https://other.example (HTTP 307). Redirects are not followed, because the key and the request would go along. If that address is the right one, set EXAMPLE_BASE_URL to it",
  );
  const targets = [
    "/v1/messages/?key=secret",
    "//other.example",
    "http://api.example.com/",
    "data:text/html,x",
    "http://[",
    null,
  ];
  expect(targets.map((location) => redirectIn(302, location, FROM)?.target)).toEqual([
    "https://api.example.com/v1/messages/",
    "https://other.example",
    "http://api.example.com",
    "a data: address",
    "an unnamed address",
    "an unnamed address",
  ]);
  expect([200, 300, 304, 305, 399, 400].map((status) => redirectIn(status, "https://other.example", FROM))).toEqual(
    [200, 300, 304, 305, 399, 400].map(() => undefined),
  );
});

test("an answer that does not redirect comes through as it is; one that a browser hides is refused", async () => {
  const asked: unknown[] = [];
  const answering = (response: Response) =>
    withoutRedirects(async (_, init) => {
      asked.push(init?.redirect);
      return response;
    });
  const fine = new Response("yes");
  expect(await answering(fine)(FROM)).toBe(fine);
  const hidden = Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
  await expect(answering(hidden)(FROM)).rejects.toBeInstanceOf(RedirectRefused);
  expect(asked).toEqual(["manual", "manual"]);
});
