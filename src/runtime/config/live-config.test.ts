import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Config } from "../../protocol/config.ts";
import { temporaryHome } from "../../testing/index.ts";
import { type ConfigState, type LiveSettings, liveSettings, withConfigProblem } from "./live-config.ts";

test("what is written to config.json holds at its next use", async () => {
  await using house = await houseWith({ model: "demo/surveyor" });
  await house.write('{"model": "a/b"}');
  expect(house.settings.config).toEqual({ model: "a/b" });
  await house.write('{"model": "a/c"}'); // of the same length, perhaps within one step of the clock
  expect(house.settings.config).toEqual({ model: "a/c" });
  await rm(house.path);
  expect(house.settings.config).toEqual({});
});

test("a file that cannot be taken changes nothing and is told once; mended, it holds", async () => {
  await using house = await houseWith({ max_turns: 7 });
  for (const broken of [
    '{"max_turns": ',
    '{"max_turns": "many", "model": "a/b"}',
    '{"memory": {"embeddings": "no"}}',
  ]) {
    await house.write(broken);
    expect([house.settings.config, house.settings.config.max_turns]).toEqual([{ max_turns: 7 }, 7]);
    expect(house.settings.state.problem).toMatch(/config\.json|no such model/);
  }
  expect(withConfigProblem(house.settings, "There is no program x.")).toBe(
    "There is no program x.\nThe config.json in use is an older one: the file as it is now cannot be used.\nno such model",
  );
  expect(house.heard.map(({ problem }) => problem !== null)).toEqual([true, true, true]);
  await house.write('{"max_turns": 8}');
  expect(house.settings.config).toEqual({ max_turns: 8 });
  expect(house.heard.at(-1)).toEqual({ problem: null, after_restart: [] });
  expect(withConfigProblem(house.settings, "There is no program x.")).toBe("There is no program x.");
});

test("a config that others read while it is written is the old one or the new one, never a part", async () => {
  await using house = await houseWith({ model: "a/b", max_turns: 1 });
  await writeFile(`${house.path}.new`, '{"model": "c/d", "max_turns": 2}');
  await rename(`${house.path}.new`, house.path);
  expect(house.settings.config).toEqual({ model: "c/d", max_turns: 2 });
});

test("what is opened once waits for a restart and says so; what a flag said stays", async () => {
  await using house = await houseWith({ server: { port: 1 } }, { sandbox: { unsafe: true } });
  await house.write('{"server": {"port": 2}, "model": "a/b"}');
  expect(house.settings.config).toEqual({ model: "a/b", server: { port: 1 }, sandbox: { unsafe: true } });
  expect(house.settings.state).toEqual({ problem: null, after_restart: ["server"] });
  await house.write('{"server": {"port": 1}}');
  expect(house.settings.state).toEqual({ problem: null, after_restart: [] });
});

test("the same config is the same object, so that nobody makes anew what follows from it", async () => {
  await using house = await houseWith({ model: "a/b" });
  const before = house.settings.config;
  await house.write('{ "model": "a/b" }');
  expect(house.settings.config).toBe(before);
  expect(house.heard).toEqual([]);
});

interface LiveHouse extends AsyncDisposable {
  path: string;
  settings: LiveSettings;
  heard: ConfigState[];
  write(text: string): Promise<void>;
}

async function houseWith(config: Config, flags: Config = {}): Promise<LiveHouse> {
  const home = await temporaryHome();
  const path = join(home.path, "config.json");
  await writeFile(path, JSON.stringify(config));
  const settings = liveSettings({ home: home.path, env: {}, config: { ...config, ...flags } }, ({ memory }) => {
    if (memory?.embeddings === "no") throw new Error("no such model");
  });
  const heard: ConfigState[] = [];
  settings.onChange((state) => heard.push(state));
  return {
    path,
    settings,
    heard,
    write: (text) => writeFile(path, text),
    [Symbol.asyncDispose]: () => home.remove(),
  };
}
