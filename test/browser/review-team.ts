import type { World } from "../../src/repository/testing/world.ts";
import type { ProviderRequest, ProviderServerOptions, ProviderTurn } from "../../src/testing/index.ts";

export const GOAL = "Make the greetings friendlier.";
export const COMMENT = "Say their name too.";
export const REASON = "Too long for a letterhead.";

const call = (name: string, args: unknown) => ({ name, args });
const edit = (old: string, now: string) => call("edit_file", { path: "src/greet.js", old, new: now });

const GREET = `/** What a letter begins and ends with. */
export function greeting(name) {
  return "To whom it may concern";
}

${Array.from({ length: 40 }, (_, at) => `export const LINE_${at} = ${at};`).join("\n")}

export function farewell(name) {
  return "Regards";
}
`;

/** Whose check says something, and passes as long as both functions are there. */
export function prepareRepository(world: World): void {
  world.write("person/src/greet.js", GREET);
  world.write("person/check.sh", 'test "$(grep -c "^export function" src/greet.js)" = 2 && echo "2 functions found"\n');
  world.write("person/.agiraph/project.json", '{ "checks": ["sh check.sh"] }\n');
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "greetings");
}

/**
 * Alice changes the greeting. Bob changes the same line, which conflicts; he is held before he publishes (`bob`) and
 * before he resolves it (`resolve`). A comment on Alice's work is answered by a change.
 */
export const reviewTeam: ProviderServerOptions = {
  turns: {
    "Greet warmly": [
      { calls: [edit('"To whom it may concern"', '"Dear friend"')] },
      { calls: [call("publish", { summary: "A warm greeting" })] },
    ],
    "Greet briefly": [
      { calls: [edit('"To whom it may concern"', '"Hi"')] },
      { hold: "bob", calls: [call("publish", { summary: "A brief greeting" })] },
    ],
    "Answer the comments on node-1": [
      { calls: [edit('"Dear friend"', '"Dear " + name')] },
      { calls: [call("publish", { summary: "It says the name" })] },
    ],
  },
  respond: improvise,
};

function improvise({ system, messages }: ProviderRequest): ProviderTurn {
  const told = messages.at(-1)?.text ?? "";
  if (system.startsWith("You are Bob") && told.includes("<<<<<<<"))
    return { hold: "resolve", calls: [call("give_up", { reason: "Alice has done it." })] };
  if (told.includes(GOAL) && !messages.some(({ role }) => role === "assistant"))
    return {
      calls: [
        call("create_work_node", { task: "Greet warmly", worker: "Alice" }),
        call("create_work_node", { task: "Greet briefly", worker: "Bob" }),
      ],
    };
  return { text: "Noted." };
}
