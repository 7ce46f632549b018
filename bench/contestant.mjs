import { subscribe } from "node:diagnostics_channel";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";

/**
 * One contestant, one scenario, one process. Told what to do in JSON by its only argument; prints one line of JSON.
 *
 * BENCH-CONTESTANT-1. Warm-up happens in the same process and over the same path, in a home of its own, before the
 *     first figure.
 * BENCH-CONTESTANT-2. CPU is that of the whole process: every thread, garbage collection and compilation too.
 * BENCH-CONTESTANT-3. `turns` counts the calls of the tool; the caller compares it and the server's count with what was
 *     asked.
 */
/** Write-ahead files are set up in large pieces and emptied later: not what is kept, though it counts as written. */
const WRITE_AHEAD = /\/journal\/|-(wal|shm)$/;

const job = JSON.parse(process.argv[2]);
const sockets = [];
if (job.scenario === "growth") subscribe("net.client.socket", ({ socket }) => sockets.push(socket));
const { open } = await import(`./contestants/${job.contestant}.mjs`);

const ours = { board, memory, mesh, restart, server, human, answer, outside, idle, repository, engine };
const figures = await { turn, team, growth, cold, ...ours }[job.scenario]();
process.stdout.write(`${JSON.stringify({ ...figures, rss_mb: process.resourceUsage().maxRSS / 1024 })}\n`, () =>
  process.exit(0),
);

async function turn() {
  await warmUp();
  return inHome("measured", job.measured, async (contestant) => {
    const rounds = [];
    for (let round = 0; round < job.rounds; round++) {
      rounds.push(await measure(() => contestant.converse(`worker-${round}`, noTurn)));
    }
    const turns = job.measured.turns;
    return { cpu_ms: median(rounds, "cpu") / turns, wall_ms: median(rounds, "wall") / turns };
  });
}

async function team() {
  await warmUp();
  return inHome("measured", job.measured, async (contestant) => {
    const { workers, turns } = job.measured;
    const { cpu, wall } = await measure(() => everyone(contestant, workers));
    return { cpu_ms: cpu / (workers * turns), wall_ms: wall };
  });
}

/** Who has teams works as one; the others are so many at once. */
function everyone(contestant, workers) {
  if (contestant.team) return contestant.team(workers);
  return Promise.all(Array.from({ length: workers }, (_, i) => contestant.converse(`worker-${i}`, noTurn)));
}

async function growth() {
  await warmUp();
  const figures = await inHome("measured", job.measured, async (contestant, home) => {
    const before = bytesWritten();
    const samples = [];
    // Looking at the folder is not the contestant's work: it is done at four turns only.
    const look = () =>
      job.looks.includes(samples.length + 1) ? { stored: sizeOf(home), written: bytesWritten() } : {};
    await contestant.converse("worker", () => samples.push({ ...look(), cpu: cpuMs() }));
    const [a, b, c, d] = job.looks.map((turn) => samples[turn - 1]);
    const span = job.looks[1] - job.looks[0];
    return {
      early_cpu_ms: (b.cpu - a.cpu) / span,
      late_cpu_ms: (d.cpu - c.cpu) / span,
      early_stored: (b.stored - a.stored) / span,
      late_stored: (d.stored - c.stored) / span,
      ...(before !== null && {
        early_written_kb: (b.written - a.written) / span / 1e3,
        late_written_kb: (d.written - c.written) / span / 1e3,
        written_mb: (bytesWritten() - before) / 1e6,
      }),
    };
  });
  return { ...figures, stored_mb: sizeOf(`${job.home}/measured`) / 1e6 };
}

async function cold() {
  return inHome("measured", job.measured, async (contestant) => {
    await contestant.converse("worker", noTurn);
    return {};
  });
}

async function board() {
  const { costOfAFact, openBoard } = await import("./board.mjs");
  for (const size of job.sizes) costOfAFact(size); // warm
  const figures = Object.fromEntries(job.sizes.map((size) => [`fact_us_${size}`, costOfAFact(size)]));
  // The first board warms up the second.
  for (const size of [job.links + 1, job.sizes.at(-1)]) {
    const board = await openBoard(`${job.home}/${size}`, size, job.links);
    Object.assign(figures, await board.run());
    await board.close();
  }
  return figures;
}

async function memory() {
  const { searchCost } = await import("./memory.mjs");
  return searchCost(`${job.home}/agent`, job.sections, job.queries);
}

async function mesh() {
  const { meshCost } = await import("./mesh.mjs");
  return meshCost(`${job.home}/project`, job);
}

async function restart() {
  const { restartCost } = await import("./restart.mjs");
  return restartCost(`${job.home}/long`, job);
}

async function server() {
  const { serverCost } = await import("./server.mjs");
  return serverCost(`${job.home}/home`, job);
}

async function outside() {
  const { silentPrograms } = await import("./outside.mjs");
  return silentPrograms(`${job.home}/programs`, job);
}

async function repository() {
  const { repositoryCost } = await import("./repository.mjs");
  return repositoryCost(job.home, job);
}

async function engine() {
  const { engineCost } = await import("./engine.mjs");
  return engineCost(job.home, job);
}

async function idle() {
  const { idleNight } = await import("./idle.mjs");
  return idleNight(`${job.home}/night`, job);
}

async function human() {
  const { wordsToCoordinator } = await import("./human.mjs");
  return inHome("measured", job.measured, (contestant) => wordsToCoordinator(contestant, job));
}

async function answer() {
  const { answersToWorkers } = await import("./human.mjs");
  return inHome("measured", job.measured, (contestant) => answersToWorkers(contestant, job));
}

async function warmUp() {
  await inHome("warm-up", job.warmUp, async (contestant) => {
    if (job.warmUp.workers && contestant.team) return contestant.team(job.warmUp.workers);
    for (let i = 0; i < job.warmUp.conversations; i++) await contestant.converse(`worker-${i}`, noTurn);
  });
  globalThis.gc?.();
}

async function inHome(name, { baseUrl }, use) {
  const home = `${job.home}/${name}`;
  mkdirSync(home, { recursive: true });
  const contestant = await open({ baseUrl, home });
  const figures = await use(contestant, home);
  await contestant.close();
  return figures;
}

async function measure(work) {
  const [cpu, wall] = [cpuMs(), performance.now()];
  await work();
  return { cpu: cpuMs() - cpu, wall: performance.now() - wall };
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Every byte handed to the kernel for a file, Linux only: all that this process wrote, less what its sockets sent.
 * (The kernel's own `write_bytes` counts whole folios, and would charge 64 KB for a line in a file laid out ahead.)
 */
function bytesWritten() {
  try {
    const all = Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))[1]);
    return sockets.reduce((bytes, socket) => bytes - socket.bytesWritten, all);
  } catch {
    return null;
  }
}

function sizeOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const paths = files.map((file) => `${file.parentPath}/${file.name}`).filter((path) => !WRITE_AHEAD.test(path));
  return paths.reduce((bytes, path) => bytes + statSync(path).size, 0);
}

function median(rounds, figure) {
  const sorted = rounds.map((round) => round[figure]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function noTurn() {}
