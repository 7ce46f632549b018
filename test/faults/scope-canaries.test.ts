import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Scope } from "../../src/store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../../src/store/scope/scope-refusal.ts";
import { canaryOf, filesOf, type ScopeTeam, scopeTeam } from "./scope-team.ts";

/** What each may see of `filesOf()`, by the contract; everything else is a canary that must never sing. */
const AGENT = "home/agents/agent-test/";
const RUN = `${AGENT}runs/run-1/`;
const inProject = (file: string) => /^project\/(README\.md|src\/main\.ts)$/.test(file);
const aliceMayRead = (file: string) =>
  inProject(file) ||
  (file.startsWith(RUN) &&
    /^(nodes\/node-1\/|nodes\/node-\d\/published\/|workers\/alice\/|_plan\.md|_messages\/)/.test(
      file.slice(RUN.length),
    ));
const coordinatorMayRead = (file: string) => inProject(file) || file.startsWith(AGENT);

const participants = [
  { name: "alice", scopeOf: (team: ScopeTeam) => team.alice, mayRead: aliceMayRead },
  { name: "coordinator", scopeOf: (team: ScopeTeam) => team.coordinator, mayRead: coordinatorMayRead },
];

test.each(participants)(
  "no spelling of any path shows $name a file that is not in scope",
  async ({ scopeOf, mayRead }) => {
    await using team = await scopeTeam();
    const scope = scopeOf(team);
    let heard = 0;
    for (const file of filesOf()) {
      for (const path of spellings(team, file)) {
        const found = await told(scope, path);
        heard += found === undefined ? 0 : 1;
        if (found !== undefined)
          expect({ path, found, allowed: mayRead(fileIn(found)) }).toEqual({ path, found, allowed: true });
      }
    }
    // The canaries do sing for those who may hear them, else silence would prove nothing.
    expect(heard).toBeGreaterThan(15);
  },
);

test.each(participants)("no link, pipe or socket planted where $name may write leads out", async ({ scopeOf }) => {
  await using team = await scopeTeam();
  const scope = scopeOf(team);
  const [top, place] =
    scope === team.alice
      ? ["scratch", join(team.runDir, "nodes/node-1/scratch")]
      : ["notes", join(team.runDir, "notes")];
  const planted: string[] = [];
  for (const [i, file] of filesOf().entries()) {
    const target = join(team.base, file);
    symlinkSync(target, join(place, `link-${i}`));
    symlinkSync(relative(place, target), join(place, `near-link-${i}`));
    symlinkSync(dirname(target), join(place, `folder-${i}`));
    linkSync(target, join(place, `twin-${i}`));
    planted.push(`link-${i}`, `near-link-${i}`, `folder-${i}/${file.split("/").at(-1)}`, `twin-${i}`);
  }
  execFileSync("mkfifo", [join(place, "pipe")]);
  const server = createServer().listen(join(place, "socket"));
  symlinkSync("/dev/zero", join(place, "device"));
  symlinkSync(".", join(place, "loop"));

  for (const path of [...planted, "pipe", "socket", "device", "loop/loop/pipe", "folder-0"]) {
    expect([path, await told(scope, `${top}/${path}`)]).toEqual([path, undefined]);
  }
  const { entries } = await scope.list(top, { recursive: true, limit: 10_000 });
  const listed = entries.filter((entry) => entry.path.startsWith(`${top}/folder-`));
  expect(listed.every((entry) => entry.kind === "link" && !entry.path.slice(top.length + 1).includes("/"))).toBe(true);
  server.close();
});

test.each(participants)(
  "a write through a planted link replaces the link, or is refused; what it led to stays as it was",
  async ({ scopeOf }) => {
    await using team = await scopeTeam();
    const scope = scopeOf(team);
    const [top, place] =
      scope === team.alice
        ? ["scratch", join(team.runDir, "nodes/node-1/scratch")]
        : ["notes", join(team.runDir, "notes")];
    const targets = ["outside.txt", "home/token", `${AGENT}events.jsonl`, `${RUN}nodes/node-2/published/report.md`];
    for (const [i, file] of targets.entries()) {
      symlinkSync(join(team.base, file), join(place, `link-${i}`));
      symlinkSync(dirname(join(team.base, file)), join(place, `folder-${i}`));
      linkSync(join(team.base, file), join(place, `twin-${i}`));
      for (const path of [
        `link-${i}`,
        `twin-${i}`,
        `folder-${i}/${file.split("/").at(-1)}`,
        `folder-${i}/new.md`,
        `folder-${i}`,
      ]) {
        await scope.writeFile(`${top}/${path}`, "OVERWRITTEN").catch(onlyRefusals);
      }
    }

    expect(targets.map((file) => readFileSync(join(team.base, file), "utf8"))).toEqual(targets.map(canaryOf));
    expect(targets.filter((file) => existsSync(join(team.base, dirname(file), "new.md")))).toEqual([]);
    expect(readFileSync(join(place, "link-0"), "utf8")).toBe("OVERWRITTEN");
  },
);

test("a link in place of a whole folder of ours is not followed either", async () => {
  await using team = await scopeTeam();
  for (const [folder, target] of [
    [join(team.runDir, "nodes/node-1/scratch"), join(team.runDir, "nodes/node-2/scratch")],
    [join(team.runDir, "workers/alice"), join(team.runDir, "workers/bob")],
    [join(team.runDir, "_messages"), team.home],
  ] as const) {
    renameSync(folder, `${folder}.away`);
    symlinkSync(target, folder);
  }

  const paths = [
    "scratch/draft.md",
    "memory.md",
    "workers/alice/memory.md",
    "_messages/token",
    "nodes/node-1/scratch/draft.md",
  ];
  expect(await Promise.all(paths.map((path) => told(team.alice, path)))).toEqual(paths.map(() => undefined));
  await expect(team.alice.writeFile("scratch/x.md", "x")).rejects.toThrow("symbolic link");
  expect(readdirSync(join(team.runDir, "nodes/node-2/scratch"))).toEqual(["deep", "draft.md"]);
});

test("no path that anyone can make up leads out, to read, to list or to write", async () => {
  await using team = await scopeTeam();
  const words = [
    ...[
      "..",
      ".",
      "",
      "~",
      "agent",
      "project",
      "scratch",
      "published",
      "nodes",
      "node-1",
      "node-2",
      "workers",
      "alice",
      "bob",
    ],
    ...[
      "_plan.md",
      "memory.md",
      "MEMORY.md",
      "events.jsonl",
      "runs",
      "run-1",
      "run-2",
      "draft.md",
      "token",
      "outside.txt",
      ".env",
    ],
    ...[
      ".\u2024",
      "\u2025",
      "\uff0e\uff0e",
      "..\u0000",
      "..\\",
      "%2e%2e",
      "\ud800",
      "/",
      "//",
      "SCRATCH",
      "\u017fcratch",
      "n\u200bodes",
      "a".repeat(300),
    ],
  ];
  const path = fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...words) },
        { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
      ),
      {
        maxLength: 9,
      },
    )
    .map((parts) => parts.join("/"));
  const before = contentsOf(team, (file) => !aliceMayRead(file) || file.includes("published"));

  await fc.assert(
    fc.asyncProperty(path, async (wanted) => {
      const found = await told(team.alice, wanted);
      if (found !== undefined) expect(aliceMayRead(fileIn(found))).toBe(true);
      try {
        for (const entry of (await team.alice.list(wanted, { recursive: true, limit: 1000 })).entries) {
          if (/(^|\/)scratch\/|^workers\/alice\//.test(entry.path)) continue;
          expect(entry.path).not.toMatch(/bob|token|outside|MEMORY|node-2\/scratch|\.env|_output/);
        }
      } catch (error) {
        onlyRefusals(error);
      }
      await team.alice.writeFile(wanted, "CANARY of alice's own").catch(onlyRefusals);
    }),
    { numRuns: 3000 },
  );

  expect(contentsOf(team, (file) => !aliceMayRead(file) || file.includes("published"))).toEqual(before);
  const outsiders = readdirSync(team.base, { recursive: true, encoding: "utf8" }).filter((file) =>
    // Each run begins with an empty folder for its results.
    /^(?!.*\/(scratch|workers\/alice)\/)(?!.*\/run-\d\/output$).*$/.test(file),
  );
  expect(
    outsiders.filter((file) => !filesOf().some((known) => known === file || known.startsWith(`${file}/`))),
  ).toEqual([]);
});

test("after all of this not one descriptor is left open", async () => {
  await using team = await scopeTeam();
  const place = join(team.runDir, "nodes/node-1/scratch");
  execFileSync("mkfifo", [join(place, "pipe")]);
  symlinkSync("/etc", join(place, "etc"));
  linkSync(join(place, "draft.md"), join(place, "twin"));
  writeFileSync(join(place, "plain"), "x");
  mkdirSync(join(place, "folder"));
  const paths = ["plain", "pipe", "etc/passwd", "etc", "twin", "folder", "no/such", "plain/x", "deep/data.jsonl"].map(
    (name) => `scratch/${name}`,
  );
  const tries = [
    ...paths,
    "project/README.md",
    "project/src",
    "project/no",
    "nodes/node-2/scratch/draft.md",
    "",
    "../x",
  ];
  const all = async () => {
    for (const path of tries) {
      await told(team.alice, path);
      await team.alice.writeFile(path, "x").catch(onlyRefusals);
      try {
        await team.alice.list(path, { recursive: true, limit: 50 });
      } catch (error) {
        onlyRefusals(error);
      }
    }
  };
  await all();
  const before = descriptors();
  for (let i = 0; i < 20; i++) await all();

  expect(descriptors()).toBe(before);
});

/** Many ways to say where a file is, most of them wrong. */
function spellings(team: ScopeTeam, file: string): string[] {
  const fromRun = relative(team.runDir, join(team.base, file));
  const fromAgent = file.replace(AGENT, "agent/");
  const plain = [
    file,
    fromRun,
    fromAgent,
    file.startsWith(RUN) ? file.slice(RUN.length) : file,
    `project/${file.replace("project/", "")}`,
  ];
  const name = file.split("/").at(-1) ?? "";
  const short = [name, `scratch/${name}`, `published/${name}`, `agent/${name}`];
  const absolute = [join(team.base, file), `${"../".repeat(9)}${join(team.base, file).slice(1)}`, `scratch/${fromRun}`];
  const bent = [...new Set([...plain, ...short])].flatMap((path) => [
    path,
    `./${path}`,
    path.replaceAll("/", "//"),
    `scratch/../${path}`,
    `project/../${path}`,
    `/proc/self/cwd/${path}`,
    `~/${path}`,
    path.replaceAll("/", "\\"),
    path.replaceAll("/", "\u2215"),
    path.replaceAll("..", "%2e%2e"),
    path.replaceAll("..", "\uff0e\uff0e"),
    `${path}\0`,
    `${path}\0.md`,
    `scratch/\0/../../${path}`,
    `${path}\ud800`,
    path.toUpperCase(),
    path.normalize("NFD"),
    path.replace("s", "\u017f"),
    `\u200b${path}`,
    `${path}/.`,
    `${path}/..`,
    `${"a/".repeat(600)}${path}`,
    `${"a".repeat(300)}/${path}`,
  ]);
  return [...new Set([...absolute, ...bent])];
}

async function told(scope: Scope, path: string): Promise<string | undefined> {
  try {
    return (await scope.readFile(path, { maxBytes: 1000 })).bytes.toString();
  } catch (error) {
    onlyRefusals(error);
    return undefined;
  }
}

/** Whose canary it is. Fresh files, and Alice's own words, name nobody. */
function fileIn(canary: string): string {
  const file = canary.replace(/^CANARY /, "");
  return filesOf().includes(file) ? file : `${RUN}nodes/node-1/scratch/own`;
}

function contentsOf(team: ScopeTeam, which: (file: string) => boolean): string[] {
  return filesOf()
    .filter(which)
    .map((file) => readFileSync(join(team.base, file), "utf8"));
}

function onlyRefusals(error: unknown): void {
  if (!(error instanceof ScopeRefusal || error instanceof FileNotFound)) throw error;
}

function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}
