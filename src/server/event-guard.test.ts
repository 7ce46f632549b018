import { once } from "node:events";
import { expect, test } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { hang, script } from "../testing/index.ts";
import { startServer, TOKEN } from "../testing/start-server.ts";

const GOOD = { authorization: `Bearer ${TOKEN}` };

/** Everybody a socket is closed to, by what they come with. */
const STRANGERS: Record<string, { options: ClientOptions; protocols?: string[] }> = {
  "no token": { options: {} },
  "wrong token": { options: { headers: { authorization: "Bearer wrong" } } },
  "wrong token as protocol": { options: {}, protocols: ["bearer.wrong"] },
  "token in the address": { options: {} },
  "foreign origin": { options: { headers: GOOD, origin: "http://evil.example" } },
  "no origin, as a sandboxed page": { options: { headers: GOOD, origin: "null" } },
  "foreign host": { options: { headers: { ...GOOD, host: "evil.example" } } },
  "cross-site": { options: { headers: { ...GOOD, "sec-fetch-site": "cross-site" } } },
};

test("sockets are closed to every stranger and open to the owner, by header, by protocol and by cookie", async () => {
  await using server = await startServer({ coordinator: script(hang()) });
  const agent = await server.runtime.create({ goal: "Be watched", model: "scripted/coordinator" });
  const socketUrl = server.url.replace("http", "ws");
  const cookie = await logIn(server.url, server.app.credentials.newLink().once);
  const seen: Record<string, unknown> = {};
  for (const path of [`/agents/${agent.log.id}/events`, "/events"]) {
    for (const [who, { options, protocols = [] }] of Object.entries(STRANGERS)) {
      const query = who === "token in the address" ? `?token=${TOKEN}` : "";
      seen[`${who} ${path}`] = await knock(`${socketUrl}${path}${query}`, protocols, options);
    }
    const own = { origin: server.url, headers: { cookie } };
    seen[`header ${path}`] = await knock(`${socketUrl}${path}`, [], { headers: GOOD });
    seen[`protocol ${path}`] = await knock(`${socketUrl}${path}`, ["agiraph", `bearer.${TOKEN}`], {});
    seen[`cookie ${path}`] = await knock(`${socketUrl}${path}`, [], own);
    seen[`cookie from nowhere ${path}`] = await knock(`${socketUrl}${path}`, [], { headers: { cookie } });
  }
  const expected = (path: string) => ({
    [`no token ${path}`]: 401,
    [`wrong token ${path}`]: 401,
    [`wrong token as protocol ${path}`]: 401,
    [`token in the address ${path}`]: 401,
    [`foreign origin ${path}`]: 403,
    [`no origin, as a sandboxed page ${path}`]: 403,
    [`foreign host ${path}`]: 403,
    [`cross-site ${path}`]: 403,
    [`header ${path}`]: "open",
    // The token is not sent back.
    [`protocol ${path}`]: "open agiraph",
    [`cookie ${path}`]: "open",
    [`cookie from nowhere ${path}`]: 401,
  });
  expect(seen).toEqual({ ...expected(`/agents/${agent.log.id}/events`), ...expected("/events") });
});

/** The status of the refusal, or that a first frame came and by which protocol. */
async function knock(url: string, protocols: string[], options: ClientOptions): Promise<string | number> {
  const socket = new WebSocket(url, protocols, options);
  const refused = new Promise<number>((resolve) => {
    socket.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
  });
  const opened = once(socket, "message").then(() => `open ${socket.protocol}`.trim());
  const answer = await Promise.race([refused, opened]);
  socket.on("error", () => {}).terminate();
  return answer;
}

async function logIn(url: string, link: string): Promise<string> {
  const answer = await fetch(`${url}/login?once=${link}`, { redirect: "manual" });
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}
