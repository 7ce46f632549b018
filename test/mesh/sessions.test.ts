import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { SessionNotes } from "../../src/mesh/terminal/session-notes.ts";
import { PATIENCE } from "../../src/mesh/terminal/task-watch.ts";
import { TmuxMember } from "../../src/mesh/terminal/tmux-member.ts";
import { TmuxServer, tmuxSocket } from "../../src/mesh/terminal/tmux-server.ts";
import { within } from "../../src/testing/within.ts";
import { MeshHouse } from "./house.ts";
import { Terminals, withTmux } from "./terminals.ts";

const READER = join(import.meta.dirname, "terminal-reader.ts");
const LONG = { timeout: 120_000 };

/** One agent whose program writes down what it is told; it ends by the word "exit". */
async function readerHouse() {
  const house = new MeshHouse({
    meshes: [{ mesh: "line", type: "persistent", agents: ["x/reader"] }],
    agents: { reader: { options: { program: "reader", runs: "tmux" } } },
    config: {
      programs: { reader: { kind: "autonomous", command: [process.execPath, READER, "taken"], set: { GIVEN: "yes" } } },
    },
    env: { PATH: process.env.PATH ?? "", SECRET: "not for programs" },
  });
  await (await house.open()).start();
  const file = join(house.project, "taken");
  const taken = () =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .trim()
          .split("\n")
          .map((line): string => JSON.parse(line))
      : [];
  const tmux = (...words: string[]) =>
    execFileSync("tmux", ["-S", tmuxSocket(house.home, house.project), ...words], { encoding: "utf8" });
  const told = (count: number) => {
    let seen = 0;
    return house.until(({ type }) => type === "mesh.told" && ++seen === count);
  };
  return { house, taken, tmux, told };
}

withTmux(
  "a session is {mesh}-{agent} on a private socket, with an environment of its own; its prompt is kept",
  LONG,
  async () => {
    const { house, taken, tmux, told } = await readerHouse();
    await using _ = house;
    await house.send("line", { to: "reader", text: "# Hello\n\nTwo lines.\n" });
    await told(1);
    expect(taken()).toHaveLength(1);
    // In one line: who reads line by line would take each for a message of its own.
    expect(taken()[0]).toMatch(
      /^\[tx\] Task \S+ for line\/reader from human: Hello Two lines\. \(It is in \S+\. When it is done: .*\)$/,
    );
    expect(tmux("list-sessions", "-F", "#{session_name}").trim()).toBe("line-reader");
    const pid = tmux("list-panes", "-a", "-F", "#{pane_pid}").trim();
    const names = readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .map((line) => line.split("=")[0]);
    expect(
      names
        .filter((name) =>
          ["SECRET", "TMUX", "TMUX_PANE", "GIVEN", "TX_MESH", "TX_AGENT", "TX_PROJECT"].includes(name ?? ""),
        )
        .toSorted(),
    ).toEqual(["GIVEN", "TX_AGENT", "TX_MESH", "TX_PROJECT"]);
    expect(statSync(tmuxSocket(house.home, house.project)).mode & 0o077).toBe(0);
  },
);

withTmux(
  "a server that was stopped and started finds the terminal again, and tells it nothing twice",
  LONG,
  async () => {
    const { house, taken, tmux, told } = await readerHouse();
    await using _ = house;
    await house.send("line", { text: "# First\n" });
    await told(1);
    const pid = tmux("list-panes", "-a", "-F", "#{pane_pid}");
    await house.restart();
    await told(2);
    await house.send("line", { to: "reader", type: "ask", text: "And?\n" });
    await told(3);
    expect(taken().map((words) => words.split(" ", 2)[1])).toEqual(["Task", "Question"]);
    expect(tmux("list-panes", "-a", "-F", "#{pane_pid}")).toBe(pid);
  },
);

withTmux("who detaches everybody does not keep words from coming", LONG, async () => {
  const { house, taken, tmux, told } = await readerHouse();
  await using _ = house;
  await house.send("line", { to: "reader", type: "ask", text: "One?\n" });
  await told(1);
  tmux("detach-client", "-s", "=line-reader");
  await house.send("line", { to: "reader", type: "ask", text: "Two?\n" });
  await told(2);
  expect(taken()).toHaveLength(2);
});

withTmux("a dead session is shown within 5 s, and begun again, with what is not done", LONG, async () => {
  const { house, taken, tmux, told } = await readerHouse();
  await using _ = house;
  await house.send("line", { text: "# Work\n" });
  await told(1);
  tmux("send-keys", "-t", "=line-reader:", "C-c");
  await within(
    5000,
    house.until(({ type, data }) => type === "mesh.session" && data.state === "dead"),
  );
  await told(2);
  expect(taken().map((words) => words.includes("Work"))).toEqual([true, true]);
  expect(
    (await house.facts("mesh.session"))
      .map(({ state, detail }) => (detail ? `${state}: ${detail.slice(0, 8)}` : state))
      // What it is in between is recorded as it is seen: on a busy machine it may be busy before it is seen to be ready.
      .filter((state) => !/ready|idle|busy/.test(state)),
  ).toEqual(["starting", "dead: it ended", "starting"]);
});

withTmux("kill ends the session and nothing else", LONG, async () => {
  const { house, tmux, told } = await readerHouse();
  await using _ = house;
  const { name } = await house.send("line", { to: "reader", text: "# Work\n" });
  await told(1);
  await house.kill("line", "reader");
  expect(() => tmux("list-sessions")).toThrow();
  expect(house.queues("line", "reader")).toEqual({ active: [name] });
});

withTmux("who is begun after a kill, by spawn, is told what is not done", LONG, async () => {
  const { house, taken, told } = await readerHouse();
  await using _ = house;
  await house.send("line", { text: "# Work\n" });
  await told(1);
  await house.kill("line", "reader");
  await house.spawn("line", "reader");
  await told(2);
  expect(taken().map((words) => words.includes("Work"))).toEqual([true, true]);
});

withTmux(
  "TMUX-MEMBER-1: whoever is begun after a death is told the task again, and the question that came meanwhile",
  LONG,
  async () => {
    const { house, taken, tmux, told } = await readerHouse();
    await using _ = house;
    await house.send("line", { text: "# Work\n" });
    await told(1);
    tmux("send-keys", "-t", "=line-reader:", "C-c");
    await house.until(({ type, data }) => type === "mesh.session" && data.state === "dead");
    await house.send("line", { to: "reader", type: "ask", text: "And?\n" });
    await told(3);
    expect(
      taken()
        .map((words) => words.split(" ", 2)[1])
        .toSorted(),
    ).toEqual(["Question", "Task", "Task"]);
  },
);

withTmux("what comes while somebody is killed is for whoever comes after", LONG, async () => {
  const script = `trap "" HUP TERM; while :; do if read -r line; then echo "$line" >> taken; else sleep 0.1; fi; done`;
  const house = new MeshHouse({
    meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
    agents: { one: { options: { program: "stubborn", runs: "tmux" } } },
    config: { programs: { stubborn: { kind: "autonomous", command: ["sh", "-c", script] } } },
  });
  await (await house.open()).start();
  await using _ = house;
  await house.send("line", { to: "one", type: "ask", text: "One?\n" });
  const isTold = (name: string) => house.until(({ type, data }) => type === "mesh.told" && data.name === name);
  await house.until(({ type }) => type === "mesh.told");
  const server = new TmuxServer(tmuxSocket(house.home, house.project), process.env.PATH ?? "");
  const killed = house.kill("line", "one");
  // Its terminal is gone; it itself is not, for as long as it may.
  while (await server.has("line-one")) await new Promise(setImmediate);
  const { name } = await house.send("line", { to: "one", type: "ask", text: "Two?\n" });
  await killed;
  await isTold(name);
  const next = await house.send("line", { to: "one", type: "ask", text: "Three?\n" });
  await isTold(next.name);
  expect(await house.facts("mesh.undelivered")).toEqual([]);
});

withTmux("two who want a session at once get one", LONG, async () => {
  await using terminals = new Terminals();
  let prepared = 0;
  const member = new TmuxMember({
    ...{ server: terminals.server, session: "line-one", kind: "plain", cwd: terminals.dir, hooks: null },
    async prepare() {
      prepared++;
      return { argv: ["sleep", "1000"], env: { PATH: process.env.PATH ?? "" }, hooks: null };
    },
    words: () => "",
    record: () => {},
    isLeaving: () => false,
    before: async () => {},
    notes: new SessionNotes(join(terminals.dir, "notes")),
    now: () => 0,
    waitsForPerson: () => {},
    isActive: () => false,
    giveUp: async () => {},
    clearsBefore: false,
  });
  const [one, other] = await Promise.all([member.start(), member.revive()]);
  expect([one === other, prepared]).toEqual([true, 1]);
  await member.close();
});

withTmux("TMUX-MEMBER-3: who dies in a dialog while a message waits is begun again, then broken", LONG, async () => {
  await using terminals = new Terminals();
  const player = join(import.meta.dirname, "dialog-player.ts");
  const screen = join(import.meta.dirname, "../../src/mesh/terminal/screens/codex-trust.txt");
  const states: string[] = [];
  const pid = () =>
    Number(execFileSync("tmux", ["-S", terminals.server.socket, "list-panes", "-a", "-F", "#{pane_pid}"]).toString());
  const member = new TmuxMember({
    ...{ server: terminals.server, session: "line-one", kind: "codex", cwd: terminals.dir, hooks: null },
    async prepare() {
      const argv: [string, ...string[]] = [process.execPath, player, join(terminals.dir, "keys"), screen];
      return { argv, env: { PATH: process.env.PATH ?? "" }, hooks: null };
    },
    words: () => "[tx] Task",
    record: (state, detail) => {
      states.push(state === "broken" ? `broken: ${detail}` : state);
      if (state === "dialog") process.kill(pid(), "SIGKILL");
    },
    isLeaving: () => false,
    before: async () => {},
    notes: new SessionNotes(join(terminals.dir, "notes")),
    now: () => 0,
    waitsForPerson: () => {},
    isActive: () => true,
    giveUp: async () => {},
    clearsBefore: false,
    atOnceMs: 0,
  });
  await expect(member.tell({ name: "1.md", header: { type: "task" }, body: "x" } as never)).rejects.toThrow();
  expect(states.filter((state) => state === "starting")).toHaveLength(3);
  expect(states.at(-1)).toMatch(/^broken: It ended before it took a message, 3 times: it ended/);
  await member.close();
});

withTmux(
  "TMUX-MEMBER-6: a command that falls silent is reminded in its terminal, then a person is told",
  LONG,
  async () => {
    await using terminals = new Terminals();
    const taken = join(terminals.dir, "taken");
    const { promise: isTold, resolve: tell } = Promise.withResolvers<string>();
    const givenUp: string[] = [];
    const member = new TmuxMember({
      ...{ server: terminals.server, session: "line-one", kind: "plain", cwd: terminals.dir, hooks: null },
      async prepare() {
        const argv: [string, ...string[]] = [process.execPath, READER, taken];
        return { argv, env: { PATH: process.env.PATH ?? "" }, hooks: null };
      },
      words: ({ name }) => `[tx] Task ${name}`,
      record: () => {},
      isLeaving: () => false,
      before: async () => {},
      notes: new SessionNotes(join(terminals.dir, "notes")),
      now: () => 0,
      waitsForPerson: tell,
      isActive: () => true,
      giveUp: async (why) => void givenUp.push(why),
      patience: { ...PATIENCE, quiet: [1, 1, 1] },
      clearsBefore: false,
    });
    await member.tell({ name: "1.md", header: { type: "task" }, body: "x" } as never);
    expect(await isTold).toBe("it has been quiet for a long time, was reminded 2 times, and has not ended 1.md. ");
    const reminder = (time: number) =>
      expect.stringMatching(`^\\[tx\\] Reminder ${time} of 2: your task 1.md has not ended. If it is done: tx done `);
    const lines = readFileSync(taken, "utf8").trim().split("\n");
    expect(lines.map((line): string => JSON.parse(line))).toEqual(["[tx] Task 1.md", reminder(1), reminder(2)]);
    expect(givenUp).toEqual([]);
    await member.close();
  },
);

withTmux("TMUX-MEMBER-7: with clear_before each task begins in a new session, and only then", LONG, async () => {
  const script =
    'echo start >> starts; while read -r line; do case "$line" in *"[tx] Task"*) tx done "Done." ;; esac; done';
  const house = new MeshHouse({
    meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
    agents: { one: { options: { program: "mine", runs: "tmux", clear_before: true } } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", script] } } },
  });
  await (await house.open()).start();
  await using _ = house;
  const starts = () => readFileSync(join(house.project, "starts"), "utf8").trim().split("\n").length;
  await house.send("line", { text: "# One\n" });
  await house.completed("line");
  expect(starts()).toBe(1);
  await house.send("line", { to: "one", type: "ask", text: "And?\n" });
  await house.until(({ type, data }) => type === "mesh.told" && data.name.includes("and"));
  expect(starts()).toBe(1);
  await house.send("line", { text: "# Two\n" });
  let seen = 0;
  await house.until(({ type, data }) => type === "mesh.completed" && data.agent === null && ++seen === 2);
  expect(starts()).toBe(2);
});
