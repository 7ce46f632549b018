import fc from "fast-check";
import { expect, test } from "vitest";
import { ReceivedIds, receiveWebhook } from "./receive-webhook.ts";
import { DELIVERY_HEADER, SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "./signature.ts";

const SECRET = "a secret of the house";
const NOW = 1_767_225_600_000;
const ANSWER = { agent_id: "agent-abcd", question_id: "question-1", response: "yes" };

test("a signed answer and a signed message are taken", () => {
  const memory = new ReceivedIds(NOW - 1);
  expect(take(ANSWER, { memory })).toEqual({ status: 200, words: ANSWER, taken: expect.any(Function) });
  const message = { agent_id: "agent-abcd", message: "hello", to: "Alice" };
  expect(take(message, { memory })).toEqual({ status: 200, words: message, taken: expect.any(Function) });
});

test("the signature is the documented one, so that anybody can make it", () => {
  expect(signatureOf("0123456789abcdef", "1767225600", '{"a":1}')).toBe(
    "v1=539b0e21b535c5201ef7d1453c0a0de4ad132293226de9018be0cfbf0092faa6",
  );
});

test.each([
  ["no signature", { [SIGNATURE_HEADER]: undefined }],
  ["another secret's", { [SIGNATURE_HEADER]: signatureOf("another secret!!", "1767225600", JSON.stringify(ANSWER)) }],
  ["another version's", { [SIGNATURE_HEADER]: "v0=00" }],
  ["another timestamp's", { [TIMESTAMP_HEADER]: "1767225601" }],
  ["no timestamp", { [TIMESTAMP_HEADER]: undefined }],
  ["a timestamp that is none", { [TIMESTAMP_HEADER]: "now" }],
])("%s is refused, and told nothing more", (_, headers) => {
  expect(take(ANSWER, { headers })).toEqual({
    status: 401,
    code: "bad_signature",
    message: "The signature is missing or wrong.",
  });
});

test("a body that was changed on the way is refused", () => {
  const signed = headersFor(JSON.stringify(ANSWER), NOW);
  fc.assert(
    fc.property(fc.nat(JSON.stringify(ANSWER).length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const body = Buffer.from(JSON.stringify(ANSWER));
      body[at] = (body[at] ?? 0) ^ flip;
      const received = receiveWebhook(body, signed, {
        channel: "pager",
        secret: SECRET,
        now: NOW,
        memory: new ReceivedIds(0),
      });
      expect(received).toMatchObject({ status: 401, code: "bad_signature" });
    }),
  );
});

test.each([
  ["five minutes old", NOW - 300_000, 200],
  ["older", NOW - 300_001, 401],
  ["five minutes ahead", NOW + 300_000, 200],
  ["further ahead", NOW + 300_001, 401],
])("what was signed %s", (_, signed, status) => {
  expect(take(ANSWER, { signed, memory: new ReceivedIds(0) }).status).toBe(status);
});

test("what was signed before this process listened is refused: an earlier one may have taken it", () => {
  expect(take(ANSWER, { signed: NOW - 1000, memory: new ReceivedIds(NOW - 999) })).toMatchObject({
    status: 401,
    code: "too_old",
  });
});

test("the same request is taken once, for as long as its signature is good", () => {
  const memory = new ReceivedIds(0);
  const signed = NOW + 300_000;
  expect(take(ANSWER, { memory, signed }).status).toBe(200);
  for (const now of [NOW, NOW + 300_000, NOW + 600_000])
    expect(take(ANSWER, { memory, signed, now })).toMatchObject({ status: 409, code: "already_received" });
});

test("a delivery that was taken is refused when signed anew; one that was not may come again", () => {
  const memory = new ReceivedIds(0);
  const headers = { [DELIVERY_HEADER]: "mine-1" };
  take(ANSWER, { memory, headers, signed: NOW - 3 });
  const second = take(ANSWER, { memory, headers, signed: NOW - 2 });
  expect(second.status).toBe(200);
  if (second.status === 200) second.taken();
  expect(take(ANSWER, { memory, headers, signed: NOW - 1 })).toMatchObject({ status: 409, code: "already_received" });
});

test("the memory is bounded: when it is full it refuses, and forgets only what is too old to come again", () => {
  const memory = new ReceivedIds(0, { most: 2 });
  const at = (signed: number, now = NOW) => take(ANSWER, { memory, signed, now }).status;
  expect([at(NOW - 1), at(NOW - 2), at(NOW - 3)]).toEqual([200, 200, 429]);
  expect(at(NOW + 600_001, NOW + 600_001)).toBe(200);
});

test.each([
  ["no JSON", "{", "the body: expected an object in braces"],
  ["no agent", JSON.stringify({ message: "hello" }), "agent_id"],
  ["a path for an agent", JSON.stringify({ agent_id: "agent-../x", message: "hello" }), "agent_id"],
  ["an empty answer", JSON.stringify({ ...ANSWER, response: "" }), "response"],
  ["something more", JSON.stringify({ ...ANSWER, channel: "terminal" }), 'the body: there is no field "channel"'],
  ["too many words", JSON.stringify({ ...ANSWER, response: "x".repeat(32_001) }), "response"],
])("%s is refused with what is wrong and what was expected", (_, body, word) => {
  const received = receiveWebhook(Buffer.from(body), headersFor(body, NOW), {
    channel: "pager",
    secret: SECRET,
    now: NOW,
    memory: new ReceivedIds(0),
  });
  expect(received).toMatchObject({ status: 400, code: "bad_request" });
  expect("message" in received && received.message).toContain(word);
  expect("message" in received && received.message).toContain("{agent_id, question_id, response}");
});

test("two senders may give their deliveries the same ids: each channel has its own", () => {
  const memory = new ReceivedIds(0);
  const headers = { [DELIVERY_HEADER]: "1" };
  const first = take(ANSWER, { memory, headers, channel: "pager", signed: NOW - 2 });
  if (first.status === 200) first.taken();
  expect(take(ANSWER, { memory, headers, channel: "phone", signed: NOW - 1 }).status).toBe(200);
  expect(take(ANSWER, { memory, headers, channel: "pager", signed: NOW }).status).toBe(409);
});

interface Taking {
  channel?: string;
  memory?: ReceivedIds;
  headers?: Record<string, string | undefined>;
  signed?: number;
  now?: number;
}

function take(words: unknown, { memory = new ReceivedIds(0), headers = {}, signed = NOW, now = NOW, ...more }: Taking) {
  const body = JSON.stringify(words);
  const ports = { channel: "pager", secret: SECRET, now, memory, ...more };
  return receiveWebhook(Buffer.from(body), { ...headersFor(body, signed), ...headers }, ports);
}

function headersFor(body: string, at: number): Record<string, string> {
  const timestamp = (at / 1000).toFixed(3);
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signatureOf(SECRET, timestamp, body) };
}
