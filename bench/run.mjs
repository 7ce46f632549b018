import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { contestants } from "./contestants.mjs";
import { installPeers } from "./peers.mjs";
import { markdown, medians } from "./report.mjs";
import { scenarios } from "./scenarios.mjs";
import { judge } from "./targets.mjs";

/**
 * `npm run bench`: what a turn of the harness costs, beside two hand-written floors and the peers, in one run.
 *
 * BENCH-1. Every measurement is a fresh process; the model server is another process.
 * BENCH-2. Contestants take turns, repetition by repetition, so that a slow minute of the machine hits them all.
 * BENCH-3. A contestant that did not make exactly the model calls asked for has no figures, only an error.
 * BENCH-4. Homes are removed after the last measurement: whenever ext4 makes a file, it looks at every file that was
 *     deleted in the last minutes, so that removing one contestant's home would slow whoever comes next.
 * BENCH-5. Time never fails a run. Only `--check` turns missed targets into exit code 1.
 */
const USAGE = `npm run bench -- [--only turn,team,growth,cold,board,memory,mesh,restart,server,human,answer,outside,idle,repository,engine,bytes] [--contestants floor-streamed,agiraph,…]
                [--quick] [--no-peers] [--check]`;
const CHILD_LIMIT_MS = 120_000;

const options = readOptions();
const chosen = contestants.filter(
  ({ name, kind }) => (options.contestants?.includes(name) ?? true) && (options.peers || kind !== "peer"),
);
const planned = Object.entries(scenarios(options)).filter(([name]) => options.only.includes(name));

if (chosen.some(({ kind }) => kind === "peer")) installPeers(log);
const server = await startModelServer();
const measurements = [];
const homes = mkdtempSync(join(tmpdir(), "agiraph-bench-"));
try {
  for (const [name, scenario] of planned) await runScenario(name, scenario);
} finally {
  rmSync(homes, { recursive: true, force: true });
}
server.child.stdin.end();

const table = medians(measurements);
const targets = judge(table);
const report = markdown({ table, targets, measurements, planned, machine: machine() });
save({ ...machine(), options, table, targets, measurements });
process.stdout.write(`${report}\n`);
if (options.check && targets.some((target) => !target.met)) process.exitCode = 1;

async function runScenario(name, scenario) {
  const spent = new Map();
  for (let repetition = 1; repetition <= scenario.repetitions; repetition++) {
    for (const contestant of chosen.filter(({ kind }) => (scenario.only ?? kind) === kind)) {
      const before = spent.get(contestant.name) ?? 0;
      if (repetition > 1 && (before > scenario.budgetMs || before === Number.POSITIVE_INFINITY)) continue;
      const started = performance.now();
      const figures = await measure(contestant.name, name, scenario).catch((error) => ({ error: error.message }));
      spent.set(contestant.name, figures.error ? Number.POSITIVE_INFINITY : before + performance.now() - started);
      measurements.push({ scenario: name, contestant: contestant.name, repetition, ...figures });
      log(`${name} ${repetition}/${scenario.repetitions} ${contestant.name.padEnd(16)} ${oneLine(figures)}`);
    }
  }
}

/** One child process. The server says when its first request came and whether it made the calls it should. */
async function measure(contestant, scenario, { job, conversations, limitMs = CHILD_LIMIT_MS }) {
  const run = `${scenario}-${contestant}-${measurements.length}`;
  const home = join(homes, run);
  mkdirSync(home);
  const withUrl = (part, turns) => ({
    ...part,
    baseUrl: `${server.url}/${run}-${turns}/${part.turns}${part.workers ? `x${part.workers}` : ""}/${part.latency}/v1`,
  });
  const measured = job.measured && withUrl(job.measured, "measured");
  const told = {
    ...job,
    contestant,
    scenario,
    home,
    measured,
    ...(job.warmUp && { warmUp: withUrl(job.warmUp, "warm-up") }),
  };
  const started = process.hrtime.bigint();
  const figures = await runChild(told, limitMs);
  // How many calls a team makes while somebody talks to it depends on how long that takes.
  if (!measured || conversations === undefined) return figures;
  const { coordinator, ...seen } = await (await fetch(`${server.url}/${run}-measured`)).json();
  // A coordinator is woken by news that comes one by one or together: its calls cannot be told beforehand.
  const expected = conversations * job.measured.turns;
  if (seen.requests !== expected) throw new Error(`made ${seen.requests} model calls instead of ${expected}`);
  if (coordinator !== undefined) figures.coordinator_calls = coordinator;
  return scenario === "cold"
    ? { ...figures, first_request_ms: Number(BigInt(seen.first_ns) - started) / 1e6 }
    : figures;
}

async function runChild(job, limitMs) {
  const flags = job.scenario === "cold" ? [] : ["--expose-gc"];
  const file = fileURLToPath(new URL("./contestant.mjs", import.meta.url));
  const child = spawn(process.execPath, [...flags, file, JSON.stringify(job)], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  const [out, err, [code, signal]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, "close"),
  ]);
  if (code === 0) return JSON.parse(out.trim().split("\n").at(-1));
  const why = err.match(/^\w*Error.*$/m)?.[0] ?? err.trim().split("\n").at(-1);
  throw new Error(
    signal ? `was ended by ${signal} after ${limitMs / 1000} s at the latest` : `exited with ${code}: ${why}`,
  );
}

async function startModelServer() {
  const file = fileURLToPath(new URL("./model-server.mjs", import.meta.url));
  const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(createInterface({ input: child.stdout }), "line");
  return { child, url: `http://127.0.0.1:${port}` };
}

async function textOf(stream) {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: {
          type: "string",
          default: "turn,team,growth,cold,board,memory,mesh,restart,server,human,answer,outside,idle,repository,engine",
        },
        contestants: { type: "string" },
        quick: { type: "boolean", default: false },
        peers: { type: "boolean", default: true },
        check: { type: "boolean", default: false },
      },
      allowNegative: true,
    });
    // Bytes are counted where the conversation is long, so that they can be seen to grow.
    const only = values.only.split(",").map((name) => (name === "bytes" ? "growth" : name));
    return { ...values, only, contestants: values.contestants?.split(",") };
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}\n`);
    process.exit(2);
  }
}

function machine() {
  return {
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? "unknown",
    at: new Date().toISOString(),
  };
}

function save(results) {
  const folder = fileURLToPath(new URL("./results/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "latest.json"), `${JSON.stringify(results, null, 2)}\n`);
}

function oneLine(figures) {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${typeof value === "number" ? value.toFixed(2) : value}`)
    .join(", ");
}

function log(line) {
  process.stderr.write(`${line}\n`);
}
