import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { isEndOf, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** 10,000 in the soak. */
const MESSAGES = Number(process.env.AGIRAPH_KILLS ?? 0) >= 1_000 ? 10_000 : 2_000;
const AGENTS = Array.from({ length: 10 }, (_, number) => `agent-${number}`);

test(`${MESSAGES} messages through a mesh of ten: none lost, none doubled, each agent's in the order they came, memory flat`, {
  timeout: 1_200_000,
}, async () => {
  const project = await ScriptedProject.open({
    configs: [{ mesh: "m", type: "persistent", agents: AGENTS.map((name) => `x/${name}`) }],
  });
  try {
    const sent = new Map(AGENTS.map((agent) => [agent, [] as string[]]));
    const memory: number[] = [];
    const batch = MESSAGES / 10;
    for (let number = 0; number < MESSAGES; number++) {
      const agent = AGENTS[number % AGENTS.length] ?? "";
      const name = `${String(number).padStart(5, "0")}.md`;
      sent.get(agent)?.push(name);
      project.put(
        { mesh: "m", agent },
        "inbox",
        name,
        `---\nfrom: human\nto: m/${agent}\ntype: task\n---\n# ${number}\n`,
      );
      if (number % batch !== batch - 1) continue;
      // A burst of a tenth at a time, so that memory can be compared.
      await Promise.all(AGENTS.map((each) => project.until(isEndOf("m", each, sent.get(each)?.at(-1)))));
      memory.push(heapAfterCollecting(project));
    }
    const told = new Map(AGENTS.map((agent) => [agent, [] as string[]]));
    for (const line of project.told) told.get(line.slice(0, 7))?.push(line.slice(line.lastIndexOf(" ") + 1));
    expect(told).toEqual(sent);
    for (const agent of AGENTS) {
      const names = sent.get(agent) ?? [];
      expect(project.queues("m", agent)).toEqual({
        complete: names.flatMap((name) => [name, name.replace(".md", ".result.md")]),
      });
    }
    // Nothing of what is over is kept in mind, beyond what is bounded (each agent knows its last hundred) and the names
    // that this test keeps. Two thousand are too few to tell that from what only warms up: the soak is the proof.
    const [early = 0, late = 0] = [memory[5], memory.at(-1)];
    expect((late - early) / (MESSAGES * 0.4)).toBeLessThan(MESSAGES < 10_000 ? 500 : 300);
  } finally {
    await project.close();
  }
});

function heapAfterCollecting(project: ScriptedProject): number {
  // The test's own record is not the mesh's.
  project.facts.length = 0;
  project.heard.length = 0;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
