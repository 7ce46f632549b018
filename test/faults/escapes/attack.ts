/**
 * One way out of the sandbox, as a short Python program that runs inside and says `escaped(…)` when it got what it must
 * not get. Python because it makes any system call without a compiler; `kit.ts` has the words it is written in.
 *
 * Each attack has a positive control: the same program where nothing confines it, which must escape. Otherwise a misspelt
 * attack would count as one that the sandbox held.
 */
export interface Attack {
  /** What the command or program would have done: "reads the server's token". */
  name: string;
  code: string;
  control?: Control;
}

/** By default the same code, outside the sandbox, as the user who runs the sandbox. */
export interface Control {
  /** Only root may do it outside, so only a run as root has the control. */
  root?: boolean;
  /** Where the same code would harm this machine, or needs another victim. */
  code?: string;
  env?: Record<string, string>;
  /** In the sandbox, where another target is allowed. */
  inside?: boolean;
  /** A path without which this machine has nothing to attack, e.g. /dev/kvm; named in the title where it is missing. */
  needs?: string;
  /** A part that kernels may be built without: where the control finds no such call, the test says so. */
  mayBeAbsent?: boolean;
}

/** What a run in the sandbox came to: an attack by its name, with what it said. */
export type Outcomes = Record<string, { escaped: boolean; said: string }>;

export interface Findings {
  /** Of a run that never came to its attacks: why. */
  failure?: string;
  inside: Outcomes;
  control: Outcomes;
  /** Files outside the sandbox that were made or changed meanwhile. */
  changed: string[];
}

/** What the runner process is told; see `runner.ts`. */
export interface Job {
  attacks: Attack[];
  /** `sandbox.run` or `sandbox.start`. */
  as: "command" | "program";
  /** Hosts the sandbox may reach; `PORT` stands for the port of the server that is meant to be reached. */
  allow?: string[];
  withControl: boolean;
}

/** The name of a control that runs inside, beside its attack. */
export const controlOf = (name: string) => `control: ${name}`;
