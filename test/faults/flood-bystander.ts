/**
 * Somebody who asks a server one thing after another while others flood it: a process of its own, so that what it
 * measures is the server and not the flood's own work. Arguments: the server's address and its token. Says "ready", asks
 * until it hears "stop", then says what it saw.
 */
const [url = "", token = ""] = process.argv.slice(2);
const times: number[] = [];
let notAnswered = 0;
let isOver = false;
process.on("message", () => (isOver = true));

async function ask(path: string): Promise<void> {
  const began = performance.now();
  const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }).catch(() => undefined);
  await answer?.arrayBuffer().catch(() => {});
  times.push(performance.now() - began);
  if (answer?.status !== 200) notAnswered++;
}

// The first request of a process pays for its connection and its compilation.
await ask("/healthz");
await ask("/agents");
times.length = 0;
process.send?.("ready");
do {
  await ask("/healthz");
  await ask("/agents");
} while (!isOver);
times.sort((a, b) => a - b);
const at = (part: number) => Number((times[Math.floor(times.length * part)] ?? 0).toFixed(1));
process.send?.({ asked: times.length, notAnswered, p50: at(0.5), p99: at(0.99) });
process.disconnect();
