import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, test } from "vitest";
import { skipped } from "../../try-sandbox.ts";
import { type Attack, controlOf, type Findings, type Job, type Outcomes } from "./attack.ts";

/**
 * The tests of a list of attacks: as root, who steps down, and as an ordinary user. Each attack must be held in a command
 * and in a program that lives on, and must escape where nothing confines it.
 */
export function testEscapes(attacks: readonly Attack[], options: Pick<Job, "allow"> = {}): void {
  describe.skipIf(skipped).each(users)(`$name, a command and a program are held ${skipped}`, (user) => {
    let [command, program]: Findings[] = [];
    beforeAll(async () => {
      const job = { attacks: [...attacks], ...options };
      command = await runAs(user, { ...job, as: "command", withControl: true });
      program = await runAs(user, { ...job, as: "program", withControl: false });
    }, 120_000);

    for (const { name, control } of attacks) {
      const without = missingFor(control, user);
      test(`where one ${name}${without && ` (no control: ${without})`}`, ({ skip }) => {
        const outcomes = { command: command?.inside[name], program: program?.inside[name] };
        expect({ command: verdict(outcomes.command), program: verdict(outcomes.program) }).toEqual(bothHeld);
        if (without) return;
        const outside =
          (control?.inside ? command?.inside[controlOf(name)] : command?.control[name])?.said ?? "never ran";
        if (control?.mayBeAbsent && /Errno (38|97)\b/.test(outside)) skip("no control: this kernel has no such part");
        expect({ outside }).toEqual({ outside: expect.stringMatching(/^ESCAPED/) });
      });
    }
    test("and no file outside their folders has changed", () => {
      expect([command?.changed, program?.changed]).toEqual([[], []]);
    });
  });
}

const bothHeld = { command: "held", program: "held" };

/** What it said where it was not held. */
function verdict(outcome: Outcomes[string] | undefined): string {
  if (!outcome) return "never ran";
  return outcome.escaped ? outcome.said : "held";
}

export interface User {
  name: string;
  /** -1: whoever runs the tests. */
  uid: number;
}

const isRoot = process.getuid?.() === 0;
const ordinary = "as an ordinary user";
export const users: User[] = isRoot
  ? [
      { name: "as root", uid: -1 },
      { name: ordinary, uid: 60_641 },
    ]
  : [{ name: ordinary, uid: -1 }];

/** Why there is no control; empty where there is. */
function missingFor(control: Attack["control"], { uid }: User): string {
  if (control?.needs && !existsSync(control.needs)) return `this machine has no ${control.needs}`;
  if (!control?.root || (isRoot && uid < 0)) return "";
  return isRoot ? "only root has it, see there" : "only root has it";
}

/** Runs a TypeScript file of this folder as that user, with things inherited that nobody wants to pass on. */
export function startAs({ uid }: User, file: string, ...args: string[]) {
  const here = (name: string) => join(import.meta.dirname, name);
  const words = [here("wrapper.py"), String(uid), process.execPath, here(file), ...args];
  return spawn("/usr/bin/python3", words, { cwd: "/", env: { PATH: "/usr/bin:/bin" } });
}

async function runAs(user: User, job: Job): Promise<Findings> {
  const child = startAs(user, "runner.ts");
  child.stdin.end(JSON.stringify(job));
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (!said) throw new Error(`The attacks were not run: ${complaint}`);
  const found: Findings = JSON.parse(said);
  if (found.failure) throw new Error(found.failure);
  return found;
}
