import { createServer } from "node:http";

/**
 * The model of the benchmark: an OpenAI-compatible server in a process of its own, so that thinking costs the
 * contestants nothing. Everything a contestant may choose stands in its base URL:
 *
 *   /<run>/<turns>/<latency ms>/v1/chat/completions
 *
 * M1. Turn k of n is one call of `note`, turn n ends the conversation (`finish` where that tool is offered, else words).
 * M2. k is 1 + the assistant messages of the request, so a contestant that forgets or repeats a turn is seen.
 * M3. A streamed reply is 25 events in one write: how TCP would batch them on a busy machine is noise, not cost.
 * M4. `GET /<run>` tells when the run's first request came (monotonic ns), how many came, and the last turn asked for.
 */
const WORDS =
  "The next thing worth keeping is written down before anything else happens to it, so nothing is lost here.";
const ASSISTANT = Buffer.from('"role":"assistant"');
const FINISH = Buffer.from('"name":"finish"');
const STREAM = Buffer.from('"stream":true');
const PIECES = 22;

const runs = new Map();
const replies = new Map();

const server = createServer((request, response) => {
  const [, run, turns, latency] = request.url.split("/");
  if (request.method === "GET")
    return sendJson(response, runs.get(run) ?? { first_ns: null, requests: 0, last_turn: 0 });
  const arrived = process.hrtime.bigint();
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const turn = 1 + count(body, ASSISTANT);
    record(run, turn, arrived);
    const reply = replyFor({
      turn,
      last: turn >= Number(turns),
      finish: body.includes(FINISH),
      stream: body.includes(STREAM),
    });
    const answer = () => response.writeHead(200, reply.headers).end(reply.body);
    if (Number(latency) > 0) setTimeout(answer, Number(latency));
    else answer();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
// Whoever started the server holds its input open; when they are gone, so is the server.
process.stdin.on("end", () => process.exit(0)).resume();

function record(run, turn, arrived) {
  const seen = runs.get(run) ?? { first_ns: String(arrived), requests: 0, last_turn: 0 };
  runs.set(run, { ...seen, requests: seen.requests + 1, last_turn: turn });
}

function replyFor({ turn, last, finish, stream }) {
  const key = `${turn}-${last}-${finish}-${stream}`;
  let reply = replies.get(key);
  if (!reply) {
    const message =
      last && !finish ? { words: `Done. ${WORDS}` } : { words: "I keep a note.", call: callFor(turn, last) };
    // Ids are unique in a conversation: some peers take a second message of the same id for a correction.
    const common = { id: `chatcmpl-${turn}`, created: 1_760_000_000, model: "scripted" };
    reply = stream ? streamed(common, message) : whole(common, message);
    replies.set(key, reply);
  }
  return reply;
}

function callFor(turn, last) {
  const [name, args] = last ? ["finish", { summary: `Done. ${WORDS}` }] : ["note", { text: `${turn}. ${WORDS}` }];
  return { id: `call_${String(turn).padStart(6, "0")}`, name, args: JSON.stringify(args) };
}

const usage = {
  prompt_tokens: 1200,
  completion_tokens: 40,
  total_tokens: 1240,
  prompt_tokens_details: { cached_tokens: 1000 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

function whole(common, { words, call }) {
  const calls = call && [{ id: call.id, type: "function", function: { name: call.name, arguments: call.args } }];
  const message = { role: "assistant", content: words, ...(calls && { tool_calls: calls }) };
  const choice = { index: 0, message, logprobs: null, finish_reason: calls ? "tool_calls" : "stop" };
  const body = Buffer.from(JSON.stringify({ ...common, object: "chat.completion", choices: [choice], usage }));
  return { headers: { "content-type": "application/json", "content-length": body.length }, body };
}

function streamed(common, { words, call }) {
  const deltas = [{ role: "assistant", content: "" }];
  if (call) {
    const opening = { index: 0, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    deltas.push({ content: words }, { tool_calls: [opening] });
    const pieces = cut(call.args, PIECES - 2);
    deltas.push(...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })));
  } else deltas.push(...cut(words, PIECES).map((content) => ({ content })));
  const events = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: call ? "tool_calls" : "stop" }] },
    { choices: [], usage },
  ].map((event) => `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", ...event })}\n\n`);
  const body = Buffer.from(`${events.join("")}data: [DONE]\n\n`);
  return { headers: { "content-type": "text/event-stream", "cache-control": "no-cache" }, body };
}

function cut(text, parts) {
  const bound = (part) => Math.round((text.length * part) / parts);
  return Array.from({ length: parts }, (_, part) => text.slice(bound(part), bound(part + 1)));
}

function count(body, needle) {
  let found = 0;
  for (let at = body.indexOf(needle); at !== -1; at = body.indexOf(needle, at + needle.length)) found++;
  return found;
}

function sendJson(response, value) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
