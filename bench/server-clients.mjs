import { WebSocket } from "ws";

/** Everybody who looks on, and one who asks: prints how long facts and answers took. */
const { url, token, working, clients, seconds, asks } = JSON.parse(process.argv[2]);
const headers = { authorization: `Bearer ${token}` };
const facts = [];
let isMeasuring = false;

const sockets = Array.from({ length: clients }, (_, i) => {
  const agent = working[i % working.length];
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/${agent}/events?snapshot=1`, { headers });
  socket.on("message", (data) => {
    const now = Date.now();
    const { seq, ts, type } = JSON.parse(data);
    if (isMeasuring && seq !== undefined && type !== "snapshot") facts.push(now - ts * 1000);
  });
  return socket;
});
await Promise.all(
  sockets.map(
    (socket) =>
      new Promise((resolve, reject) => {
        socket.once("message", resolve);
        socket.once("close", (code, reason) => reject(new Error(`closed with ${code} ${reason}`)));
      }),
  ),
);

const { agents } = await get("/agents?limit=100");
const everybody = [...working, ...agents.map(({ id }) => id)];
for (let i = 0; i < 100; i++) await get(`/agents/${everybody[i % everybody.length]}`); // warm
isMeasuring = true;
const answers = [];
const began = performance.now();
for (let i = 0; performance.now() - began < seconds * 1000; i++) {
  const asked = performance.now();
  await get(`/agents/${everybody[(i * 7) % everybody.length]}`);
  answers.push(performance.now() - asked);
  const next = began + (i + 1) * (1000 / asks) - performance.now();
  if (next > 0) await new Promise((resolve) => setTimeout(resolve, next));
}
isMeasuring = false;
const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
process.stdout.write(
  `${JSON.stringify({
    get_ms: at(answers, 0.5),
    get_p99_ms: at(answers, 0.99),
    fact_ms: at(facts, 0.5),
    fact_p99_ms: at(facts, 0.99),
    append_p99_ms: bucketAt(metrics, "agiraph_append_seconds", 0.99) * 1000,
    facts_a_second: facts.length / seconds,
  })}\n`,
);
process.exit(0);

async function get(path) {
  const answer = await fetch(`${url}${path}`, { headers });
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** What the disk takes of it: the bound of the bucket that so many are in. */
function bucketAt(text, name, share) {
  const buckets = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)$`, "gm"))];
  const all = Number(buckets.at(-1)[2]);
  const found = buckets.find(([, , count]) => Number(count) >= all * share);
  return found[1] === "+Inf" ? 60 : Number(found[1]);
}

function at(values, share) {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * share))];
}
