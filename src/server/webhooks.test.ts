import { expect, test } from "vitest";
import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "../mail/channels/signature.ts";
import { call, script, temporaryHome } from "../testing/index.ts";
import { startServer, type TestServer } from "../testing/start-server.ts";
import { startWebhookReceiver } from "../testing/webhook-receiver.ts";

const SECRET = "a secret of the house";

test("a signed answer comes in without a token; nothing else does", async () => {
  await using pager = await startWebhookReceiver();
  await using house = await startServer({
    coordinator: script(
      call("ask_human", { question: "Which?" }),
      call("finish", { summary: "B" }).after("answers: B"),
    ),
    config: { channels: { pager: { type: "webhook", url: pager.url, secret: SECRET } } },
  });
  const { log } = await house.runtime.create({ goal: "Ask", model: "scripted/coordinator" });
  await house.until(log.id, ({ questions }) => "question-1" in questions.open);
  const answer = { agent_id: log.id, question_id: "question-1", response: "B" };
  expect((await post(house, "pager", answer, { signature: "v1=00" })).status).toBe(401);
  expect((await post(house, "nobody", answer)).status).toBe(404);
  expect((await house.fetch("/webhooks/pager")).status).toBe(405);
  expect((await post(house, "pager", { ...answer, response: "x".repeat(100_000) })).status).toBe(413);
  const taken = await post(house, "pager", answer);
  expect({ status: taken.status, body: await taken.json() }).toEqual({
    status: 200,
    body: { ok: true, message: "Answered." },
  });
  await house.until(log.id, ({ agent }) => agent.status === "completed");
});

test("a signed message is taken once: not by another listener, not under another channel's name, not after a restart", async () => {
  await using home = await temporaryHome();
  await using pager = await startWebhookReceiver();
  const channel = { type: "webhook", url: pager.url, secret: SECRET } as const;
  const config = { channels: { pager: { ...channel, listen: { port: 0 } }, other: channel } };
  const plan = () => ({ coordinator: script(call("ask_human", { question: "Which?" })), config, home: home.path });
  let replay: Response[];
  let body: object;
  // A sender whose clock is ahead of ours: what it signed looks fresh to a server that was started meanwhile.
  const signed = Date.now() + 240_000;
  {
    await using house = await startServer(plan());
    await house.runtime.listen();
    const { log } = await house.runtime.create({ goal: "Ask", model: "scripted/coordinator" });
    await house.until(log.id, ({ questions }) => "question-1" in questions.open);
    body = { agent_id: log.id, message: "hello", to: "*" };
    const listener = `http://127.0.0.1:${house.runtime.webhookListeners[0]?.port}`;
    expect((await post(house, "pager", body, { signed })).status).toBe(200);
    replay = [
      await post(house, "pager", body, { signed }),
      await post({ url: listener }, "pager", body, { signed }),
      await post(house, "other", body, { signed }),
    ];
  }
  await using again = await startServer(plan());
  replay.push(await post(again, "pager", body, { signed }));
  expect(replay.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
});

function post(
  { url }: Pick<TestServer, "url">,
  channel: string,
  body: object,
  { signature, signed = Date.now() }: { signature?: string; signed?: number } = {},
): Promise<Response> {
  const text = Buffer.from(JSON.stringify(body));
  const timestamp = String(signed / 1000);
  return fetch(`${url}/webhooks/${channel}`, {
    method: "POST",
    body: text,
    headers: {
      "content-type": "application/json",
      [TIMESTAMP_HEADER]: timestamp,
      [SIGNATURE_HEADER]: signature ?? signatureOf(SECRET, timestamp, text),
    },
  });
}
