import type { CallPart, ResultEntry } from "../../protocol/index.ts";
import { NOBODY_AT_WORK, NOTHING_NEW } from "../../tools/mail.ts";
import { onlyLooks } from "../../tools/tool.ts";
import type { Tools } from "../../tools/toolbox.ts";

/** The model is told after so many repeats, and stopped after so many. */
const TOLD_AT = 3;
const ENDED_AT = 6;

/** Waiting gives the same answer each time, and does not count as a repeat; unless nothing was waited for. */
const PATIENT: ReadonlySet<string> = new Set(["check_messages"]);
/** An infinite agent ends a cycle with a checkpoint, and may have the same to say after each. */
export const PATIENT_IN_CYCLES: ReadonlySet<string> = new Set([...PATIENT, "checkpoint"]);

/** Refused while others work, which ends by itself: asking again is impatience, not a loop. */
const ENDING: ReadonlySet<string> = new Set(["finish", "conclude"]);

/** While others work, a command with the same output is a way of looking too: "sleep 60; ls …". */
const COMMAND = "bash";

export interface RepeatPorts {
  /** Tools whose repetition is never counted. */
  patient?: ReadonlySet<string>;
  /** Whether others are at work, so that what is seen may change by itself. */
  othersWork?(): boolean;
  /** Resolves when there is something new. Left out for programs, which are never kept waiting. */
  news?(signal: AbortSignal): Promise<void>;
  /** A number that changes with each cycle: a call made in another cycle is not a repeat. */
  cycle?(): number;
}

/**
 * A model that makes the same call again and again and gets the same answer is told so, and then stopped: it would go
 * on until its turns or the money run out. Looking while others work is never stopped: after some repeats it waits for
 * news instead.
 */
export function withRepeatGuard(tools: Tools, ports: RepeatPorts = {}): Tools {
  const { patient = PATIENT, othersWork = () => false, news, cycle = () => 0 } = ports;
  let last = "";
  let times = 0;
  const count = (call: CallPart, { content }: ResultEntry) => {
    const key = JSON.stringify([cycle(), call.name, call.args, content]);
    times = key === last ? times + 1 : 1;
    last = key;
  };
  /** Who looks for messages again and again waits for them; where none can come, it is a loop like any other. */
  const inVain = async (call: CallPart, result: ResultEntry, signal: AbortSignal) => {
    if (result.content === NOBODY_AT_WORK || times < TOLD_AT) return judged(call, result, times);
    if (times < ENDED_AT || !news) return nothingNew(result, tools);
    await news(signal);
    const again = await tools.run(call, signal);
    if (again.content === NOTHING_NEW) return judged(call, again, times);
    last = "";
    return again;
  };
  return {
    get specs() {
      return tools.specs;
    },
    recover: (call, signal) => tools.recover(call, signal),
    async run(call, signal) {
      const result = await tools.run(call, signal);
      const isInVain = result.content === NOBODY_AT_WORK || result.content === NOTHING_NEW;
      if (patient.has(call.name) && !isInVain) return result;
      count(call, result);
      if (isInVain) return inVain(call, result, signal);
      const isTooEarly = !result.ok && ENDING.has(call.name);
      const isCommand = call.name === COMMAND;
      if (!(isTooEarly || isCommand || onlyLooks(call, tools.specs)) || !othersWork())
        return judged(call, result, times);
      if (times === 1) return result;
      if (times < ENDED_AT || !news) return nothingNew(result, tools);
      await news(signal);
      last = "";
      // The news must be read before the run can end.
      if (isTooEarly) return { ...result, content: "Not finished yet: something has changed. Read the news first." };
      // A command may do more than look, so it is not run again unasked.
      if (isCommand) return { ...result, content: `${result.content}\n\n(You waited after this. There is news.)` };
      return tools.run(call, signal);
    },
  };
}

function nothingNew(result: ResultEntry, { specs }: Tools): ResultEntry {
  const canWait = specs.some(({ name }) => name === "check_messages");
  const how = canWait ? "call check_messages with wait: true" : "answer in a few words and call nothing";
  const note = `(Nothing has changed since you last looked. You are told the news; to wait for it, ${how}.)`;
  return { ...result, content: `${result.content}\n\n${note}` };
}

function judged(call: CallPart, result: ResultEntry, times: number): ResultEntry {
  if (times < TOLD_AT || result.ending) return result;
  const content = `${result.content}\n\n(This is the same call with the same answer, ${times} times in a row. Do something else.)`;
  if (times < ENDED_AT) return { ...result, content };
  const error = `Going in circles: ${call.name} was called ${times} times in a row with the same answer.`;
  return { ...result, content, ending: { kind: "abandoned", error } };
}
