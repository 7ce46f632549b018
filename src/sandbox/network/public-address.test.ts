import { describe, expect, test } from "vitest";
import { isListed, isPublic, type Lookup, resolvePublic } from "./public-address.ts";

describe("only globally routed unicast addresses are public", () => {
  test.each([
    "1.1.1.1",
    "93.184.216.34",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::1",
  ])("%s is", (address) => {
    expect(isPublic(address)).toBe(true);
  });

  test.each([
    ...[
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "127.0.0.1",
      "127.255.255.254",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
    ],
    ...[
      "192.0.0.8",
      "192.0.2.1",
      "192.88.99.1",
      "192.168.1.1",
      "198.18.0.1",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "255.255.255.255",
    ],
    ...[
      "::",
      "::1",
      "::ffff:8.8.8.8",
      "::ffff:7f00:1",
      "::127.0.0.1",
      "64:ff9b::7f00:1",
      "64:ff9b:1::1",
      "100::1",
      "2001::1",
    ],
    ...[
      "2001:db8::1",
      "2002:7f00:1::",
      "3fff::1",
      "fc00::1",
      "fd12::1",
      "fe80::1",
      "fe80::1%eth0",
      "2606:4700::1111%eth0",
      "fec0::1",
      "ff02::1",
    ],
    ...["localhost", "", "1.1.1", "0x7f.1"],
  ])("%s is not", (address) => {
    expect(isPublic(address)).toBe(false);
  });
});

test("a list names hosts, ports, patterns, and nothing beside them", () => {
  const list = ["example.com", "api.test:8443", "*.pypi.org", "10.0.0.7", "[fd00::1]:80", "fd00::2"];
  const asked = [
    "example.com:1",
    "EXAMPLE.com.:443",
    "api.test:8443",
    "a.pypi.org:443",
    "10.0.0.7:22",
    "[fd00::1]:80",
    "[fd00::2]:9",
  ];
  const others = [
    "notexample.com:1",
    "example.com.evil:1",
    "api.test:443",
    "pypi.org:443",
    "evilpypi.org:443",
    "10.0.0.70:22",
    "[fd00::1]:81",
  ];
  const listed = (target: string) => {
    const [, host = "", port] = /^(.*):(\d+)$/.exec(target) ?? [];
    return isListed(host, Number(port), list);
  };
  expect(asked.map(listed)).toEqual(asked.map(() => true));
  expect(others.map(listed)).toEqual(others.map(() => false));
});

describe("a name is resolved to what may be dialled", () => {
  const answers: Record<string, string[]> = {
    "mixed.test": ["10.0.0.1", "1.1.1.1"],
    "inside.test": ["10.0.0.1", "::1"],
  };
  const lookup: Lookup = async (name) =>
    (answers[name] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

  test("the private ones among its addresses are left out", async () => {
    expect(await resolvePublic("mixed.test", 443, { lookup, allowPrivate: [] })).toEqual([
      { address: "1.1.1.1", family: 4 },
    ]);
  });

  test("a name with none left is refused, and so is a name without addresses", async () => {
    await expect(resolvePublic("inside.test", 443, { lookup, allowPrivate: [] })).rejects.toThrow(
      "inside.test is 10.0.0.1, ::1: not a public address, so it is refused.",
    );
    await expect(resolvePublic("nowhere.test", 443, { lookup, allowPrivate: [] })).rejects.toThrow(
      "nowhere.test is no address",
    );
  });

  test("a private address is dialled when it, or its name, is listed", async () => {
    expect(await resolvePublic("inside.test", 443, { lookup, allowPrivate: ["10.0.0.1:443"] })).toEqual([
      { address: "10.0.0.1", family: 4 },
    ]);
    expect(await resolvePublic("inside.test", 443, { lookup, allowPrivate: ["inside.test"] })).toHaveLength(2);
    await expect(resolvePublic("inside.test", 80, { lookup, allowPrivate: ["10.0.0.1:443"] })).rejects.toThrow(
      "refused",
    );
  });
});
