import { expect, test } from "vitest";
import { RedirectRefused, redirectIn, withoutRedirects } from "./without-redirects.ts";

const FROM = "https://api.example.com/v1/messages?key=secret";

test("the error names where a redirect points, and no path or query of another origin", () => {
  const refused = (location: string | null) => redirectIn(307, location, FROM, "EXAMPLE_BASE_URL")?.message;
  expect(refused("https://other.example/path?echo=secret")).toBe(
    "https://api.example.com redirects to https://other.example (HTTP 307). Redirects are not followed, because the key and the request would be sent there too. That is another host. A network that wants you to sign in does this: open any page in a browser and sign in. If the service has moved, look up its new address in its documentation and change EXAMPLE_BASE_URL",
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

const LOOK_UP = "look up its new address in its documentation";

test.each([
  ["the same host", "/v2/messages", "change EXAMPLE_BASE_URL to match"],
  ["another port of the host", "https://api.example.com:8443/", "change EXAMPLE_BASE_URL to match"],
  ["the host without encryption", "http://api.example.com/v1/messages", LOOK_UP],
  ["another host", "https://login.hotel.example/", "That is another host. A network that wants you to sign in"],
  ["a host that begins with its name", "https://api.example.com.hotel.example/", "That is another host"],
  ["another subdomain", "https://www.example.com/", "That is another host"],
  ["what is not a web address", "data:text/html,x", LOOK_UP],
  ["an address that it does not name", null, LOOK_UP],
])("BOUNDARY-3: what to do about a redirect to %s", (_, location, advice) => {
  const message = redirectIn(302, location, FROM, "EXAMPLE_BASE_URL")?.message ?? "";
  expect(message).toContain(advice);
  expect(message.includes(LOOK_UP)).toBe(!advice.endsWith("to match"));
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
