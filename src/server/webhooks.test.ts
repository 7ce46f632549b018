import { expect, test } from "vitest";
import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "../mail/channels/signature.ts";
import { call, script } from "../testing/index.ts";
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
  expect((await post(house, "pager", answer, "v1=00")).status).toBe(401);
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

function post(house: TestServer, channel: string, body: object, signature?: string): Promise<Response> {
  const text = Buffer.from(JSON.stringify(body));
  const timestamp = String(Date.now() / 1000);
  return fetch(`${house.url}/webhooks/${channel}`, {
    method: "POST",
    body: text,
    headers: {
      "content-type": "application/json",
      [TIMESTAMP_HEADER]: timestamp,
      [SIGNATURE_HEADER]: signature ?? signatureOf(SECRET, timestamp, text),
    },
  });
}
