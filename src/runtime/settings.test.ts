import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../testing/index.ts";
import { loadSettings, readConfig, SettingsError } from "./settings.ts";

test("flag before environment before the file beside the package; the real environment wins over every .env", async () => {
  await using folder = await temporaryHome();
  const home = join(folder.path, "home");
  await mkdir(home);
  await writeFile(join(folder.path, ".env"), `AGIRAPH_HOME=${home}\nA=beside\nB=beside\n`);
  await writeFile(join(home, ".env"), "A=home\nC=home\n");
  await writeFile(join(home, "config.json"), `{"model": "demo/surveyor"}`);
  expect(await loadSettings({}, { B: "real" }, folder.path)).toEqual({
    home,
    env: { AGIRAPH_HOME: home, A: "beside", B: "real", C: "home" },
    config: { model: "demo/surveyor" },
  });
  expect((await loadSettings({ home: "/elsewhere" }, { AGIRAPH_HOME: "/environment" }, folder.path)).home).toBe(
    "/elsewhere",
  );
  expect((await loadSettings({}, { AGIRAPH_HOME: "/environment" }, folder.path)).home).toBe("/environment");
});

test.each([
  ["a missing comma", '{\n  "model": "a"\n  "budget_usd": 3\n}', /config\.json:3:3: this is not valid JSON/],
  ["an end too soon", '{\n  "model": "a",\n', /config\.json:3:1: this is not valid JSON/],
  [
    "a wrong type",
    '{\n  "model": "a",\n  "budget_usd": "three"\n}',
    /config\.json:3: budget_usd: Invalid input: expected number/,
  ],
  [
    "a deep wrong type",
    '{\n "providers": {\n  "mine": {\n   "base_url": 5\n }}}',
    /config\.json:4: providers\.mine\.base_url: Invalid/,
  ],
  ["an unknown key", '{\n  "modell": "a"\n}', /config\.json:2: the file: Unrecognized key: "modell"/],
  [
    "a channel's address that cannot be posted to",
    '{"channels": {\n "pager": {"type": "webhook", "secret": "0123456789abcdef",\n  "url": "ftp://example.org"}}}',
    /config\.json:3: channels\.pager\.url: ftp: is not a way to post; expected https/,
  ],
  [
    "a channel's address with a password",
    '{"channels": {"pager": {"type": "webhook", "secret": "0123456789abcdef", "url": "https://a:b@example.org"}}}',
    /channels\.pager\.url: an address with a user or password in it is refused/,
  ],
  [
    "a channel without a secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://example.org"}}}',
    /channels\.pager\.secret: this channel needs a secret to sign with/,
  ],
  [
    "a short secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://example.org", "secret": "x"}}}',
    /channels\.pager\.secret: a secret has at least 16 characters/,
  ],
  [
    "a Slack channel that listens without a secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://a.b", "preset": "slack", "listen": {"port": 1}}}}',
    /channels\.pager\.secret: this channel needs a secret/,
  ],
  [
    "a channel's name that is not plain",
    '{"channels": {"my pager": {"type": "webhook", "url": "https://a.b", "preset": "slack"}}}',
    /channels\.my pager/,
  ],
  ["no object", "[]", /config\.json:1: the file: Invalid input: expected object/],
])("an unreadable config says file, line and what was expected: %s", async (_, text, message) => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  await writeFile(path, text);
  await expect(readConfig(path)).rejects.toThrow(SettingsError);
  await expect(readConfig(path)).rejects.toThrow(message);
});

test("no config is an empty config", async () => {
  await using home = await temporaryHome();
  expect(await readConfig(join(home.path, "config.json"))).toEqual({});
});

test("Slack and Discord are reached by their address alone; all else is signed", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  const channels = {
    team: { type: "webhook", url: "https://example.org/T0/B0", preset: "slack", to: ["questions"] },
    pager: { type: "webhook", url: "http://127.0.0.1:9/", secret_env: "PAGER_SECRET", listen: { port: 4748 } },
  };
  await writeFile(path, JSON.stringify({ channels }));
  expect(await readConfig(path)).toEqual({ channels });
});
