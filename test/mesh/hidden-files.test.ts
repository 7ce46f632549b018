import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MeshHouse } from "./house.ts";

test("in the sandbox an agent of a mesh reads the project and its own messages, and no file that begins with a dot", async () => {
  const look = "cat ../../../../../../../../plain.txt; ls ../../msgs; cat $TX_PROJECT/.env $TX_PROJECT/.git/config";
  await using house = new MeshHouse({
    meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"], validation_gates: ["seen"] }],
    agents: { one: { options: { program: "mine", runs: "headless" } } },
    gates: { seen: 'test -f "$TX_PROJECT/plain.txt" && ! grep -q canary "$TX_PROJECT/.env"\n' },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", `${look} 2>/dev/null; true`] } } },
  });
  writeFileSync(join(house.project, "plain.txt"), "plain\n");
  writeFileSync(join(house.project, ".env"), "KEY=canary\n");
  mkdirSync(join(house.project, ".git"));
  writeFileSync(join(house.project, ".git/config"), "canary\n");
  await (await house.open()).start();
  await house.send("solo", { text: "# Look\n" });
  await house.completed("solo");
  const [end = ""] = (house.queues("solo", "one").complete ?? []).filter((name) => name.endsWith(".result.md"));
  const words = house.read("solo", "one", "complete", end);
  expect(words).toContain("active");
  expect([words.includes("plain"), words.includes("canary")]).toEqual([true, false]);
});
