import { setTimeout as after } from "node:timers/promises";

/**
 * How long a person is waited for by nobody: from their word (`agent.send`, `agent.respond`) to the moment at which the
 * model server sees the request of whoever was spoken to, with their word in it and on disk.
 *
 * BENCH-HUMAN-1. Both clocks are the machine's monotonic one; no model latency lies between them, all of the time is
 *     ours.
 * BENCH-HUMAN-2. One word at a time, each after a random pause, so that it does not fall in step with the team.
 * BENCH-HUMAN-3. Every word must have led to exactly one request, or there are no figures.
 */
export async function wordsToCoordinator(contestant, { teams, words, warmUpWords, measured }) {
  return timed(measured, teams, words, warmUpWords, async (number) => {
    const agent = await contestant.begin(`human-${number}`);
    await restOf(agent, "coordinator", "news");
    await until(agent, ({ board }) => running(board) === measured.workers);
    const say = async (word) => {
      const rested = restOf(agent, "coordinator", "news");
      const at = process.hrtime.bigint();
      await agent.send(`Word ${word}: how is it going?`);
      await rested;
      return at;
    };
    return { say, end: () => agent.stop("bench") };
  });
}

/** Everybody has asked and is parked; now one, now another is answered, and asks again. */
export async function answersToWorkers(contestant, { teams, words, warmUpWords, measured }) {
  return timed(measured, teams, words, warmUpWords, async (number) => {
    const agent = await contestant.begin(`answer-${number}`);
    const everybodyAsks = () =>
      until(agent, ({ questions }) => Object.keys(questions.open).length === measured.workers);
    await everybodyAsks();
    await until(agent, ({ roster }) => roster.coordinator.status === "waiting");
    const say = async (word) => {
      const open = Object.keys(agent.now.questions.open);
      const at = process.hrtime.bigint();
      await agent.respond(`Answer ${word}.`, open[Math.floor(Math.random() * open.length)]);
      await everybodyAsks();
      return at;
    };
    return { say, end: () => agent.stop("bench") };
  });
}

/** One team after the other: a conversation that has no end would in time be measured for its length. */
async function timed({ baseUrl }, teams, words, warmUp, begin) {
  const times = [];
  for (let number = 1; number <= teams; number++) {
    const { say, end } = await begin(number);
    const before = (await arrivals(baseUrl)).length;
    const said = [];
    for (let word = 1; word <= warmUp + words; word++) {
      await after(Math.random() * 20);
      said.push(await say(word));
    }
    const heard = (await arrivals(baseUrl)).slice(before);
    if (heard.length !== said.length) throw new Error(`${said.length} words led to ${heard.length} requests.`);
    times.push(...heard.map((arrived, i) => Number(BigInt(arrived) - said[i]) / 1e6).slice(warmUp));
    await end();
  }
  times.sort((a, b) => a - b);
  const part = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { p50_ms: part(0.5), p99_ms: part(0.99), most_ms: times.at(-1), words: times.length };
}

/** When the requests came that somebody's word can have led to. */
async function arrivals(baseUrl) {
  const { origin, pathname } = new URL(baseUrl);
  return (await fetch(`${origin}/${pathname.split("/")[1]}/arrivals`)).json();
}

function running(board) {
  return Object.values(board.nodes).filter(({ status }) => status === "running").length;
}

/** The next time that somebody has nothing to do but wait. */
function restOf(agent, worker, reason) {
  return new Promise((resolve) => {
    const unhear = agent.log.subscribe(({ type, data }) => {
      if (type !== "worker.waiting" || data.worker_id !== worker || data.for !== reason) return;
      unhear();
      resolve();
    });
  });
}

function until(agent, isSo) {
  return new Promise((resolve) => {
    const look = () => {
      if (!isSo(agent.now)) return;
      unhear();
      resolve();
    };
    const unhear = agent.log.subscribe(look);
    look();
  });
}
