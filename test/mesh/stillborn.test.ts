import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

const LONG = { timeout: 180_000 };
const isState =
  (state: string) =>
  ({ type, data }: Fact): boolean =>
    type === "mesh.session" && data.state === state;

withTmux(
  "TMUX-MEMBER-3: one that dies at once three times is broken: it rests, the human is told once, and a person begins it again",
  LONG,
  async () => {
    await using house = await (
      await new MeshHouse({
        meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
        agents: { one: { options: { program: "mine", runs: "tmux" } } },
        config: {
          programs: {
            mine: {
              kind: "autonomous",
              command: [
                "sh",
                "-c",
                'echo x >> starts; [ -f licence ] || { echo no licence; exit 4; }; while read -r l; do tx done "read"; done',
              ],
            },
          },
        },
      }).open()
    ).start();
    const starts = () => readFileSync(join(house.project, "starts"), "utf8").length / 2;
    await house.send("line", { text: "# Work\n" });
    const undeliveredFirst = await house.until(({ type }) => type === "mesh.undelivered");
    expect(undeliveredFirst.data).toMatchObject({ why: expect.stringContaining("It died at once, 3 times") });
    const [agent] = (await house.api.meshProject(house.id)).meshes[0]?.agents ?? [];
    expect(agent).toMatchObject({
      state: "broken",
      detail: expect.stringMatching(/^It died at once, 3 times: it ended/),
    });
    // What comes meanwhile begins nothing.
    await house.send("line", { to: "one", type: "ask", text: "And?\n" });
    let undelivered = 0;
    await house.until(({ type }) => type === "mesh.undelivered" && ++undelivered === 2);
    expect(starts()).toBe(3);
    const { items } = await house.api.inbox();
    expect(items.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^line\/one cannot work: It died at once, 3 times: .* start it: tx spawn line one$/),
    ]);
    writeFileSync(join(house.project, "licence"), "");
    await house.spawn("line", "one");
    await house.completed("line");
    expect(starts()).toBe(4);
  },
);

test(
  "a program that is not here is said at the start, in the state and by spawn; once it is declared anew, the task is told",
  LONG,
  async () => {
    await using house = await (
      await new MeshHouse({
        meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
        agents: { one: { options: { program: "missing", runs: "headless" } } },
        config: {
          programs: {
            missing: { kind: "autonomous", command: ["no-such-program"] },
            here: { kind: "autonomous", command: ["sh", "-c", "echo Done."] },
          },
        },
      }).open()
    ).start();
    const { problems } = await house.api.meshProject(house.id);
    expect(problems).toEqual([
      {
        file: "meshes/agents/x/one/config.json",
        problem: expect.stringContaining('"options.program": The program missing is not installed'),
      },
    ]);
    await house.send("line", { text: "# Work\n" });
    await house.until(isState("broken"));
    await house.until(({ type }) => type === "mesh.undelivered");
    await expect(house.spawn("line", "one")).rejects.toThrow("is not installed");
    const config = { name: "one", options: { program: "here", runs: "headless" } };
    writeFileSync(join(house.layout.agents, "x/one/config.json"), JSON.stringify(config));
    // Another content asks for another yes.
    await house.start();
    expect((await house.completed("line")).data).toMatchObject({ gist: "Done." });
  },
);

withTmux(
  "MESHES-2: a mesh for one task that ended while nobody was there lets its terminals go at the next start",
  LONG,
  async () => {
    await using house = await (
      await new MeshHouse({
        meshes: [{ mesh: "once", type: "task", agents: ["x/one"] }],
        agents: { one: { options: { program: "mine", runs: "tmux" } } },
        config: {
          programs: { mine: { kind: "autonomous", command: ["sh", "-c", "while read -r l; do echo got; done"] } },
        },
      }).open()
    ).start();
    const { name } = await house.send("once", { text: "# Work\n" });
    await house.until(({ type, data }) => type === "mesh.told" && data.agent === "one");
    await house.close();
    // By hand, while nobody is there: the agent's part and the mesh's are done.
    const address = (agent: string | null) => house.layout.messages({ mesh: "once", agent });
    const move = (agent: string | null, file: string) => {
      const text = readFileSync(join(address(agent), "active", file), "utf8");
      rmSync(join(address(agent), "active", file));
      writeFileSync(join(address(agent), "complete", file), text);
    };
    move("one", name.replace(".md", ".0.md"));
    if (existsSync(join(address(null), "active", name))) move(null, name);
    await house.open();
    await house.start();
    await house.until(({ type, data }) => type === "mesh.closed" && data.why === "task: its work is done");
    expect((await house.api.meshProject(house.id)).meshes[0]?.agents[0]).toMatchObject({ state: "gone" });
  },
);
