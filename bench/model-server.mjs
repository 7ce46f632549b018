import { createServer } from "node:http";

/**
 * The model of the benchmark: an OpenAI-compatible server in a process of its own, so that thinking costs the
 * contestants nothing. Everything a contestant may choose stands in its base URL:
 *
 *   /<run>/<turns>/<latency ms>/v1/chat/completions
 *   /<run>/<turns>x<workers>/<latency ms>/v1/chat/completions   for a team of one coordinator and its workers
 *
 * BENCH-MODEL-1. Turn k of n is one call of `note`, turn n ends the conversation (`finish` where that tool is offered,
 *     else words).
 * BENCH-MODEL-2. k is 1 + the assistant messages of the request, so a contestant that forgets or repeats a turn is
 *     seen.
 * BENCH-MODEL-3. A streamed reply is 25 events in one write: how TCP would batch them on a busy machine is noise, not
 *     cost.
 * BENCH-MODEL-4. `GET /<run>` tells when the run's first request came (monotonic ns), how many came, and the last turn
 *     asked for.
 * BENCH-MODEL-5. A team's coordinator (it has `finish`) hires the workers and gives each a node in its first turn,
 *     waits for the news, and finishes when all are completed; its calls are counted apart. A worker (it has `publish`)
 *     does the same n turns as everyone, the last but one of which writes the file that the last one publishes.
 * BENCH-MODEL-6. A worker of a team with 0 turns asks its human in every turn. `GET /<run>/arrivals` tells when the
 *     requests came that a human's word can have led to: the coordinator's, and those of workers who ask.
 */
const WORDS =
  "The next thing worth keeping is written down before anything else happens to it, so nothing is lost here.";
const ASSISTANT = Buffer.from('"role":"assistant"');
const FINISH = Buffer.from('"name":"finish"');
const PUBLISH = Buffer.from('"name":"publish"');
const COMPLETED = Buffer.from(" completed by ");
const STREAM = Buffer.from('"stream":true');
const PIECES = 22;

const runs = new Map();
const arrivals = new Map();
const replies = new Map();

const server = createServer((request, response) => {
  const [, run, work, latency] = request.url.split("/");
  if (request.method === "GET")
    return sendJson(response, work === "arrivals" ? (arrivals.get(run) ?? []) : (runs.get(run) ?? UNSEEN));
  const [turns, workers = 0] = work.split("x").map(Number);
  const arrived = process.hrtime.bigint();
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const turn = 1 + count(body, ASSISTANT);
    const finish = body.includes(FINISH);
    const leads = workers > 0 && finish;
    record(run, turn, arrived, leads);
    if (leads || turns === 0) arrivals.set(run, [...(arrivals.get(run) ?? []), String(arrived)]);
    const part = leads
      ? leadershipFor(turn, workers, count(body, COMPLETED))
      : partFor(turn, turns, finish ? "finish" : body.includes(PUBLISH) ? "publish" : undefined);
    const reply = replyFor(turn, part, body.includes(STREAM));
    const answer = () => response.writeHead(200, reply.headers).end(reply.body);
    if (Number(latency) > 0) setTimeout(answer, Number(latency));
    else answer();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
// Whoever started the server holds its input open; when they are gone, so is the server.
process.stdin.on("end", () => process.exit(0)).resume();

const UNSEEN = { first_ns: null, requests: 0, last_turn: 0 };

function record(run, turn, arrived, leads) {
  const { coordinator = 0, ...seen } = runs.get(run) ?? { ...UNSEEN, first_ns: String(arrived) };
  const counted = leads ? {} : { requests: seen.requests + 1, last_turn: turn };
  runs.set(run, {
    ...seen,
    ...counted,
    ...((leads || coordinator > 0) && { coordinator: coordinator + Number(leads) }),
  });
}

/** What a worker does in its turn k of n: a note, and at the end whatever it has to end with. */
function partFor(turn, turns, ending) {
  if (turns === 0) return { words: "I ask.", calls: [["ask_human", { question: `${turn}. What do you think?` }]] };
  if (turn >= turns) return ending ? endings[ending] : { words: `Done. ${WORDS}` };
  if (turn === turns - 1 && ending === "publish")
    return { words: "I write it down.", calls: [["write_file", { path: "scratch/notes.md", content: WORDS }]] };
  return { words: "I keep a note.", calls: [["note", { text: `${turn}. ${WORDS}` }]] };
}

const endings = {
  finish: { words: "I keep a note.", calls: [["finish", { summary: `Done. ${WORDS}`, learned: "" }]] },
  publish: { words: "That is all.", calls: [["publish", { summary: `Done. ${WORDS}` }]] },
};

function leadershipFor(turn, workers, completed) {
  if (turn > 1) return completed >= workers ? endings.finish : { words: "I wait for the news." };
  const roles = Array.from({ length: workers }, (_, i) => ({
    name: nameOf(i),
    title: "Keeper of notes",
    prompt: WORDS,
  }));
  return { words: "I hand out the work.", calls: [["launch_roles", { name: "Notes", roles }]], workers };
}

/** People have names without figures: Aba, Abb, Abc … */
function nameOf(number) {
  const letter = (value) => String.fromCharCode(97 + (value % 26));
  return `A${letter(number / 26)}${letter(number)}`;
}

function replyFor(turn, part, stream) {
  const key = `${turn}-${stream}-${part.words}-${part.calls?.[0][0]}-${part.workers}`;
  let reply = replies.get(key);
  if (!reply) {
    // Ids are unique in a conversation: some peers take a second message of the same id for a correction.
    const common = { id: `chatcmpl-${turn}`, created: 1_760_000_000, model: "scripted" };
    const message = { words: part.words, calls: (part.calls ?? []).map((call, at) => callFor(turn, at, call)) };
    reply = stream ? streamed(common, message) : whole(common, message);
    replies.set(key, reply);
  }
  return reply;
}

function callFor(turn, at, [name, args]) {
  return { id: `call_${String(turn * 1000 + at).padStart(9, "0")}`, name, args: JSON.stringify(args) };
}

const usage = {
  prompt_tokens: 1200,
  completion_tokens: 40,
  total_tokens: 1240,
  prompt_tokens_details: { cached_tokens: 1000 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

function whole(common, { words, calls }) {
  const tool_calls = calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } }));
  const message = { role: "assistant", content: words, ...(calls.length > 0 && { tool_calls }) };
  const choice = { index: 0, message, logprobs: null, finish_reason: calls.length > 0 ? "tool_calls" : "stop" };
  const body = Buffer.from(JSON.stringify({ ...common, object: "chat.completion", choices: [choice], usage }));
  return { headers: { "content-type": "application/json", "content-length": body.length }, body };
}

function streamed(common, { words, calls }) {
  const deltas = [{ role: "assistant", content: "" }];
  if (calls.length === 0) deltas.push(...cut(words, PIECES).map((content) => ({ content })));
  else deltas.push({ content: words });
  calls.forEach(({ id, name, args }, index) => {
    deltas.push({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    const pieces = cut(args, calls.length === 1 ? PIECES - 2 : 1);
    deltas.push(...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })));
  });
  const events = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] },
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
