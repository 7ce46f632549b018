import type { CallPart, ResultEntry } from "../protocol/index.ts";
import type { Tools } from "../tools/toolbox.ts";

/** Told after so many times, ended after so many more. */
const TOLD_AT = 3;
const ENDED_AT = 6;

/** Waiting says the same words each time, and is no circle. */
const PATIENT: ReadonlySet<string> = new Set(["check_messages"]);
/** Whoever works in cycles sleeps by a checkpoint, and may have the same to say after each. */
export const PATIENT_IN_CYCLES: ReadonlySet<string> = new Set([...PATIENT, "checkpoint"]);

/**
 * Whoever makes the same call again and again and gets the same answer is told so, and then stopped: it would go on
 * until its turns or the money run out.
 */
export function noticingRepeats(tools: Tools, patient: ReadonlySet<string> = PATIENT): Tools {
  let last = "";
  let times = 0;
  return {
    get specs() {
      return tools.specs;
    },
    settle: (call, signal) => tools.settle(call, signal),
    async run(call, signal) {
      const result = await tools.run(call, signal);
      if (patient.has(call.name)) return result;
      const key = JSON.stringify([call.name, call.args, result.content]);
      times = key === last ? times + 1 : 1;
      last = key;
      return judged(call, result, times);
    },
  };
}

function judged(call: CallPart, result: ResultEntry, times: number): ResultEntry {
  if (times < TOLD_AT || result.ending) return result;
  const content = `${result.content}\n\n(This is the same call with the same answer, ${times} times in a row. Do something else.)`;
  if (times < ENDED_AT) return { ...result, content };
  const error = `Going in circles: ${call.name} was called ${times} times in a row with the same answer.`;
  return { ...result, content, ending: { kind: "abandoned", error } };
}
