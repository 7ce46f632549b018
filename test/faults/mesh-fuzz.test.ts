import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MeshConfigError } from "../../src/mesh/declaration/config-json.ts";
import { readMesh } from "../../src/mesh/declaration/declared-mesh.ts";
import { Layout } from "../../src/mesh/files/layout.ts";
import { format, parse } from "../../src/mesh/files/message-file.ts";
import { asMessageId, derivedName, fileNameOf, sanitized, stemOf } from "../../src/mesh/files/message-names.ts";
import { diceOf } from "../simulation/dice.ts";
import { configText, messageText, nameText } from "./mesh-fuzz-texts.ts";

const HEADERS = 40_000;
const NAMES = 7_000;
const CONFIGS = 3_000;
const LIMIT_MS = 50;

declare global {
  var meshFuzzRan: number | undefined;
}

test(`${HEADERS} headers: each is a message or says why not, within ${LIMIT_MS} ms, and nothing in it is run`, {
  timeout: 180_000,
}, () => {
  const dice = diceOf("mesh-headers");
  let good = 0;
  for (let number = 0; number < HEADERS; number++) {
    const text = messageText(dice);
    const parsed = quick(() => parse(text), text);
    if (parsed.ok) {
      good++;
      expect(parse(format(parsed.header, parsed.body))).toEqual(parsed);
    } else expect(parsed.reason).toMatch(/^It.{10,}/s);
  }
  expect(good).toBeGreaterThan(1_000);
  expect(globalThis.meshFuzzRan).toBeUndefined();
});

test(`${NAMES} names: what follows from them fits into a file system and a header`, () => {
  const dice = diceOf("mesh-names");
  for (let number = 0; number < NAMES; number++) {
    const name = `${nameText(dice)}.md`;
    const derived = quick(() => derivedName(derivedName(name, "1.map.2.reduce.0"), "result"), name);
    const id = asMessageId(stemOf(derived));
    const made = fileNameOf(new Date(0), number, name);
    expect([name, Buffer.byteLength(derived) <= 250, /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/.test(id)]).toEqual([
      name,
      true,
      true,
    ]);
    expect([sanitized(name).length <= 50, /^\d{10}-\d{4,}-[a-z0-9-]+\.md$/.test(made)]).toEqual([true, true]);
    const parsed = parse(
      format({ from: "human", to: "m", type: "task", status: "pending", task: stemOf(name).slice(0, 255) || "x" }, ""),
    );
    expect([name, parsed.ok]).toEqual([name, true]);
  }
});

test(`${CONFIGS} configs: each is a mesh or an error that names file and field, within ${LIMIT_MS} ms`, {
  timeout: 180_000,
}, async () => {
  const dice = diceOf("mesh-configs");
  const layout = new Layout(mkdtempSync(join(tmpdir(), "mesh-fuzz-")));
  try {
    mkdirSync(layout.configs, { recursive: true });
    for (const agent of ["a", "b", "c"]) {
      mkdirSync(join(layout.agents, "x", agent), { recursive: true });
      writeFileSync(join(layout.agents, "x", agent, "config.json"), JSON.stringify({ name: agent }));
    }
    let good = 0;
    for (let number = 0; number < CONFIGS; number++) {
      const text = configText(dice);
      writeFileSync(join(layout.configs, "m.json"), text);
      const cpu = process.threadCpuUsage();
      const outcome = attempt(() => readMesh(layout, "m"));
      const spent = process.threadCpuUsage(cpu);
      expect([text.slice(0, 200), (spent.user + spent.system) / 1000 < LIMIT_MS]).toEqual([text.slice(0, 200), true]);
      if (outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(MeshConfigError);
        expect(outcome.message).toMatch(/^meshes\/\S+\.json: .{5,}/);
      } else good++;
    }
    expect(good).toBeGreaterThan(CONFIGS / 20);
  } finally {
    rmSync(layout.project, { recursive: true });
  }
});

/** A machine that is busy with others may stop us for long: what counts is our own time, and not by accident. */
function quick<T>(work: () => T, about: string): T {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3; time++) {
    const cpu = process.threadCpuUsage();
    const result = work();
    const spent = process.threadCpuUsage(cpu);
    least = Math.min(least, (spent.user + spent.system) / 1000);
    if (least < LIMIT_MS) return result;
  }
  throw new Error(`It took ${least} ms: ${JSON.stringify(about.slice(0, 300))}`);
}

function attempt<T>(work: () => T): T | unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
