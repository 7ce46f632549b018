/**
 * How many SIGKILLs each of the kill tests sends, and with which seeds.
 *
 * In CI each test does one round with a fixed seed. In the soak, `AGIRAPH_KILLS` is the number over all of them (6,300);
 * it is divided by the shares below, and each share is done in rounds of at most 250 kills. A round has its own home and
 * its own seed, because one log that is killed 1,500 times mostly repeats itself and gets slower, while six logs see six
 * different histories. `AGIRAPH_SEED` repeats a round that failed.
 */
export function killRounds(target: KillTarget, inCi: number, firstSeed: number): Round[] {
  const total = process.env.AGIRAPH_KILLS;
  const kills = total === undefined ? inCi : Math.round(Number(total) * share[target]);
  const seed = Number(process.env.AGIRAPH_SEED ?? firstSeed);
  const rounds = Math.max(1, Math.ceil(kills / mostInARound));
  return Array.from({ length: rounds }, (_, round) => ({
    kills: Math.floor((kills * (round + 1)) / rounds) - Math.floor((kills * round) / rounds),
    seed: seed + round,
  }));
}

export interface Round {
  kills: number;
  seed: number;
}

export type KillTarget = keyof typeof share;

/**
 * Of 6,300: 1,200 of an agent, 1,500 of a team, 300 of a server with programs, 300 of a merge queue, and 1,000 of each of
 * the others.
 */
const share = {
  agent: 12 / 63,
  team: 15 / 63,
  programs: 3 / 63,
  meshes: 10 / 63,
  server: 10 / 63,
  repository: 10 / 63,
  branches: 3 / 63,
};

const mostInARound = 250;
