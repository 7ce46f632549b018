import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MeshHouse } from "../mesh/house.ts";

// A mesh whose agent is a program that speaks by files, in a process that may watch no folder.

await using house = new MeshHouse({
  meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"] }],
  agents: { one: { options: { program: "mine", runs: "headless" } } },
  config: {
    // The namespace in which watches are limited allows no sandbox within.
    sandbox: { unsafe: true },
    programs: { mine: { kind: "autonomous", command: ["sh", "-c", "echo It is made. > _result.md; exec sleep 1000"] } },
  },
});
await (await house.open()).start();
await house.send("solo", { text: "# Make it\n" });
await house.until(({ type }) => type === "mesh.completed" || type === "mesh.failed");
console.log(await house.facts("mesh.failed"), (await house.facts("mesh.completed"))[0]?.gist);
// A declaration that is added is noticed, too.
const added = { mesh: "later", type: "persistent", agents: ["x/one"] };
writeFileSync(join(house.layout.configs, "later.json"), JSON.stringify(added));
await house.until(({ type, data }) => type === "mesh.held" && data.mesh === "later");
console.log("later is noticed");
