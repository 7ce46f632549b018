import { expect, test } from "vitest";
import type { ProgramProfile } from "../../../protocol/index.ts";
import { manualClock } from "../../../testing/manual-clock.ts";
import { temporaryHome } from "../../../testing/temporary-home.ts";
import { claudeCodeAdapter } from "../claude/claude-code.ts";
import type { OutsideEvent } from "../session/session.ts";
import { fakeProgram } from "../testing/fake-program.ts";
import { AcpPermissions } from "./acp-permissions.ts";
import { quirksOf } from "./acp-quirks.ts";
import { AcpTranslation } from "./acp-translation.ts";

const profile: ProgramProfile = { kind: "acp", command: ["x"] };
const call = { toolCallId: "c-1", title: "List files", kind: "execute", rawInput: { command: "ls" } };
/** Names and order say the opposite of what the options do. */
const options = [
  { optionId: "a", name: "No, reject", kind: "allow_always" },
  { optionId: "b", name: "Yes, allow once", kind: "reject_once" },
  { optionId: "c", name: "Reject", kind: "allow_once" },
];

function asking() {
  const translation = new AcpTranslation(quirksOf(profile), "m", 0);
  return { translation, permissions: new AcpPermissions(translation) };
}

test("an option is chosen by its kind, whatever it is called and wherever it stands", async () => {
  const { permissions } = asking();
  const one = permissions.asked({ toolCall: call, options });
  permissions.decide("permission-1", { allow: true });
  const two = permissions.asked({ toolCall: { ...call, toolCallId: "c-2" }, options });
  permissions.decide("permission-2", { allow: false });
  expect([await one.answer, await two.answer]).toEqual([
    { outcome: { outcome: "selected", optionId: "c" } },
    { outcome: { outcome: "selected", optionId: "b" } },
  ]);
});

test("a yes to once never becomes one for ever, where the agent offers nothing else", async () => {
  const { permissions } = asking();
  const { answer } = permissions.asked({
    toolCall: call,
    options: [{ optionId: "a", name: "Once", kind: "allow_always" }],
  });
  permissions.decide("permission-1", { allow: true });
  expect(await answer).toEqual({ outcome: { outcome: "cancelled" } });
});

test.for([
  ["the command", { rawInput: { command: "ls; rm -rf ~" } }],
  ["its kind", { kind: "delete" }],
  ["its files", { locations: [{ path: "/etc/passwd" }] }],
  ["its changes", { content: [{ type: "diff", path: "/etc/passwd", newText: "x" }] }],
] as const)(
  "a yes is void when %s changed between the question and the answer, and it is asked again",
  async ([, change]) => {
    const { translation, permissions } = asking();
    const { answer } = permissions.asked({ toolCall: call, options });
    let answered = false;
    void answer.then(() => {
      answered = true;
    });
    translation.update({ sessionUpdate: "tool_call_update", toolCallId: "c-1", ...change });
    const { again } = permissions.decide("permission-1", { allow: true });
    await Promise.resolve();
    expect([answered, again]).toMatchObject([false, { kind: "asked_permission", id: "permission-2", isChanged: true }]);
    permissions.decide("permission-2", { allow: true });
    expect(await answer).toEqual({ outcome: { outcome: "selected", optionId: "c" } });
  },
);

test("an agent that reports other arguments after the yes is reported", () => {
  const { translation, permissions } = asking();
  permissions.asked({ toolCall: call, options });
  permissions.decide("permission-1", { allow: true });
  const events = translation.update({
    ...{ sessionUpdate: "tool_call_update", toolCallId: "c-1", status: "completed" },
    rawInput: { command: "rm -rf ~" },
  });
  expect(events).toContainEqual({
    kind: "noted",
    text: "After permission was given it reported other arguments: rm -rf ~",
  });
});

test("a command under the title of one of our tools is asked about and kept in the record", () => {
  const { permissions } = asking();
  const { events } = permissions.asked({ toolCall: { ...call, title: "agiraph_publish" }, options });
  expect(events.map(({ kind }) => kind)).toEqual(["called", "asked_permission"]);
});

test("Claude Code: a second request under the same id does not get the answer to the first", async () => {
  await using home = await temporaryHome();
  const { running, exit } = fakeProgram();
  const setup = { profile, system: "", words: "Hi", resume: null, model: null, assigned: 0, cwd: home.path };
  const session = await claudeCodeAdapter(manualClock())({ ...setup, home: home.path, start: async () => running });
  const ask = (command: string) => {
    const request = { subtype: "can_use_tool", tool_name: "Bash", input: { command } };
    running.stdout.push(`${JSON.stringify({ type: "control_request", request_id: "r-1", request })}\n`);
  };
  ask("ls");
  ask("rm -rf ~");
  const events: OutsideEvent[] = [];
  for await (const event of session.events) {
    events.push(event);
    if (events.length === 2) {
      await session.decide("r-1", { allow: true });
      exit();
    }
  }
  const sent = String(running.stdin.read())
    .split("\n")
    .filter((line) => line.includes("control_response"));
  expect(sent.map((line) => JSON.parse(line).response.response)).toEqual([
    { behavior: "allow", updatedInput: { command: "ls" } },
  ]);
  expect(events.map((event) => (event.kind === "asked_permission" ? event.args : event.kind))).toEqual([
    { command: "ls" },
    "noted",
    "exited",
  ]);
});
