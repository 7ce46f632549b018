/**
 * What is measured. `asks` are the conversations of a child: how many, of how many turns; the requests the server
 * must have seen follow from it. `budgetMs` is how long one contestant may go on repeating a scenario.
 */
export function scenarios({ quick }) {
  const warmUp = quick ? { conversations: 3, turns: 50, latency: 0 } : { conversations: 10, turns: 50, latency: 0 };
  const rounds = quick ? 3 : 5;
  const repetitions = quick ? 1 : 5;
  const long = quick ? 200 : 400;
  return {
    turn: {
      title: "1 worker × 50 turns, 0 ms latency",
      job: { warmUp, measured: { turns: 50, latency: 0 }, rounds },
      conversations: rounds,
      repetitions,
      budgetMs: 12_000,
    },
    team: {
      title: "100 workers × 20 turns at 20 ms; ours: one agent, whose coordinator hands out 100 nodes",
      job: {
        warmUp: { ...warmUp, workers: warmUp.conversations },
        measured: { turns: 20, latency: 20, workers: 100 },
      },
      conversations: 100,
      repetitions,
      budgetMs: 8_000,
    },
    growth: {
      title: `one conversation of ${long} turns, 0 ms latency`,
      // Two windows of 50 turns around turn 50 and before the end; the last turn calls no tool.
      job: { warmUp, measured: { turns: long, latency: 0 }, looks: [25, 75, long - 51, long - 1] },
      conversations: 1,
      repetitions,
      budgetMs: 8_000,
    },
    cold: {
      title: "process start to the first model request",
      job: { measured: { turns: 2, latency: 0 } },
      conversations: 1,
      repetitions,
      budgetMs: 15_000,
    },
    board: {
      title: "boards of 100, 1,000 and 10,000 nodes; on the last, a completed node makes the next one ready, 200 times",
      job: { sizes: [100, 1_000, 10_000], links: 200 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 60_000,
      only: "ours",
    },
    memory: {
      title: "a memory of 100,000 sections; 100 searches of six words",
      job: { sections: 100_000, queries: 100 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 60_000,
      only: "ours",
    },
    mesh: {
      title: "a mesh of ten agents: 1,000 messages one by one, then 10,000 in bursts of 1,000",
      job: { agents: 10, latencies: 1_000, messages: quick ? 2_000 : 10_000 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 90_000,
      only: "ours",
    },
    restart: {
      title: "a home of 100 agents with 1,000,000 facts, opened by a new process after a kill",
      job: { agents: 100, facts: 1_000_000 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 60_000,
      only: "ours",
    },
    server: {
      title: "the server with 450 agents at rest and 50 at work; 100 clients look on, one asks 100 times a second",
      job: { idle: 450, working: 50, facts: 1_000, clients: 100, seconds: quick ? 5 : 20, asks: 100, turnMs: 500 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 90_000,
      only: "ours",
    },
    human: {
      title: "a human's word to the coordinator, who waits while 50 workers work at 200 ms; 300 words to 6 teams",
      job: { teams: 6, words: 50, warmUpWords: 10, measured: { turns: 100_000, latency: 200, workers: 50 } },
      repetitions: quick ? 1 : 3,
      budgetMs: 90_000,
      only: "ours",
    },
    outside: {
      title: "10 outside programs, silent, each in its sandbox with a door and a way out",
      job: { programs: 10, seconds: quick ? 5 : 10 },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 60_000,
      only: "ours",
    },
    idle: {
      title: "20 programs of a team that have asked their person something, over a night; then they are answered",
      job: { programs: 20, real: 2, settle: 45, seconds: quick ? 40 : 120 },
      conversations: 0,
      repetitions: 1,
      budgetMs: 60_000,
      limitMs: 300_000,
      only: "ours",
    },
    repository: {
      title: "a node's clone in a repository of 10,000 files and 500 MiB of history; 50 at once; a merge",
      job: { files: 10_000, history: 500, clones: quick ? 10 : 50, rounds: quick ? 3 : 7 },
      conversations: 0,
      repetitions: 1,
      budgetMs: 60_000,
      limitMs: 600_000,
      only: "ours",
    },
    engine: {
      title:
        "the same work recorded in files and in a PostgreSQL on the same disk; a host at rest; an agent taken over",
      job: {
        ...{ turns: quick ? 60 : 300, block: 30, facts: quick ? 3_000 : 10_000, writers: 8, agents: 8 },
        ...{ seconds: quick ? 5 : 20, restored: quick ? 1_000 : 10_000 },
      },
      conversations: 0,
      repetitions: quick ? 1 : 3,
      budgetMs: 120_000,
      only: "ours",
    },
    answer: {
      title: "50 workers wait for their human; 300 answers in 6 teams, now to one, now to another",
      job: { teams: 6, words: 50, warmUpWords: 10, measured: { turns: 0, latency: 20, workers: 50 } },
      repetitions: quick ? 1 : 3,
      budgetMs: 90_000,
      only: "ours",
    },
  };
}
