import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readlink, symlink, truncate, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { checkResponses } from "../testing/checked-responses.ts";
import { call, script } from "../testing/index.ts";
import { startServer, type TestServer, TOKEN } from "../testing/start-server.ts";

const PUBLISHED = "runs/run-1/nodes/node-1/published";

test("the files of an agent are listed page by page and sent as they are", async () => {
  await using house = await withPublished();
  const { id, dir } = await onlyAgent(house);
  const { body } = await house.get(`/agents/${id}/workspace`);
  const top = (body as { entries: { path: string }[] }).entries.map(({ path }) => path);
  expect(top).toEqual(expect.arrayContaining(["GOAL.md", "MEMORY.md", "SOUL.md", "events.jsonl", "memory", "runs"]));
  expect(top.filter((path) => path.startsWith("."))).toEqual([]);

  const pages: string[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const page: { entries: { path: string }[]; next_after: string | null } = (
      await house.get(`/agents/${id}/workspace?limit=2${after && `&after=${after}`}`)
    ).body as never;
    pages.push(...page.entries.map(({ path }) => path));
    after = page.next_after;
  }
  expect(pages).toEqual(top);
  expect((await house.get(`/agents/${id}/workspace/${PUBLISHED}`)).body).toEqual({
    path: PUBLISHED,
    entries: [
      { path: `${PUBLISHED}/a.md`, kind: "file", bytes: 6 },
      { path: `${PUBLISHED}/page.html`, kind: "file", bytes: 25 },
    ],
    next_after: null,
    truncated: false,
  });

  await mkdir(join(dir, "memory/knowledge"), { recursive: true });
  await writeFile(join(dir, "memory/knowledge/chips.md"), "# Chips\n\nB is the faster one.\n");
  expect((await house.get(`/agents/${id}/memory`)).body).toMatchObject({
    entries: expect.arrayContaining([{ path: "knowledge/chips.md", kind: "file", bytes: 30 }]),
  });
  expect((await house.get(`/agents/${id}/memory/knowledge/chips.md`)).body).toBe("# Chips\n\nB is the faster one.\n");
  expect((await house.post(`/agents/${id}/memory/search`, { query: "fast chips" })).body).toEqual({
    results: [
      {
        path: "knowledge/chips.md",
        headings: ["Chips"],
        from_line: 1,
        to_line: 3,
        text: expect.stringContaining("faster"),
        day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        score: expect.any(Number),
      },
    ],
  });
  // What is too much to be searched is said.
  await writeFile(join(dir, "memory/knowledge/long.md"), "Slow chips.\n");
  await truncate(join(dir, "memory/knowledge/long.md"), 9 * 1024 ** 2);
  expect((await house.post(`/agents/${id}/memory/search`, { query: "slow chips" })).body).toMatchObject({
    results: expect.arrayContaining([expect.objectContaining({ path: "knowledge/long.md" })]),
    not_searched: ["Of knowledge/long.md only the first 8 MB are searched. Split it by topic."],
  });
});

test("no browser runs what a team wrote", async () => {
  await using house = await withPublished();
  const { id, dir } = await onlyAgent(house);
  await writeFile(join(dir, "notes.bin"), Buffer.from([1, 0, 2]));
  await writeFile(join(dir, "picture.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]));
  const labels = async (path: string) => {
    const { headers } = await house.fetch(`/agents/${id}/workspace/${path}`);
    return [
      headers.get("content-type"),
      headers.get("x-content-type-options"),
      headers.get("content-security-policy"),
      headers.get("content-disposition"),
    ];
  };
  const sandbox = "default-src 'none'; frame-ancestors 'none'; sandbox";
  expect(
    await Promise.all(
      [`${PUBLISHED}/page.html`, "notes.bin", "picture.png", `${PUBLISHED}/a.md?download=true`].map(labels),
    ),
  ).toEqual([
    ["text/plain; charset=utf-8", "nosniff", sandbox, "inline; filename*=UTF-8''page.html"],
    ["application/octet-stream", "nosniff", sandbox, "inline; filename*=UTF-8''notes.bin"],
    ["image/png", "nosniff", sandbox, "inline; filename*=UTF-8''picture.png"],
    ["text/plain; charset=utf-8", "nosniff", sandbox, "attachment; filename*=UTF-8''a.md"],
  ]);
});

test("a file is sent again only when it changed, and in parts to whoever asks for parts", async () => {
  await using house = await withPublished();
  const { id, dir } = await onlyAgent(house);
  const large = Buffer.alloc(3_000_000, "0123456789");
  await writeFile(join(dir, "large.txt"), large);
  await writeFile(join(dir, "empty.txt"), "");
  const get = async (headers: Record<string, string> = {}, path = "large.txt") => {
    const response = await house.fetch(`/agents/${id}/workspace/${path}`, { headers });
    return { response, text: Buffer.from(await response.arrayBuffer()) };
  };
  const whole = await get();
  expect(whole.text.equals(large)).toBe(true);
  const etag = whole.response.headers.get("etag") ?? "";
  const known = await get({ "if-none-match": `"other", ${etag}` });
  expect([known.response.status, known.text.length]).toEqual([304, 0]);

  const part = async (range: string, more: Record<string, string> = {}) => {
    const { response, text } = await get({ range, ...more });
    return [response.status, response.headers.get("content-range"), text.length, text.subarray(0, 12).toString()];
  };
  expect(await part("bytes=3-6")).toEqual([206, "bytes 3-6/3000000", 4, "3456"]);
  expect(await part("bytes=2999995-")).toEqual([206, "bytes 2999995-2999999/3000000", 5, "56789"]);
  expect(await part("bytes=-2")).toEqual([206, "bytes 2999998-2999999/3000000", 2, "89"]);
  expect(await part("bytes=0-9999999")).toEqual([206, "bytes 0-2999999/3000000", 3_000_000, "012345678901"]);
  expect((await part("bytes=3000000-")).slice(0, 2)).toEqual([416, "bytes */3000000"]);
  expect((await part("bytes=0-1,5-6")).slice(0, 3)).toEqual([200, null, 3_000_000]);
  expect((await part("bytes=0-1", { "if-range": etag })).slice(0, 1)).toEqual([206]);
  expect((await part("bytes=0-1", { "if-range": '"old"' })).slice(0, 1)).toEqual([200]);
  // Of nothing there is no first byte to be had: the whole of it is the answer, so that no browser tells of a failure.
  for (const range of ["", "bytes=0-99", "bytes=5-", "bytes=-5"]) {
    const { response, text } = await get(range === "" ? {} : { range }, "empty.txt");
    expect([range, response.status, response.headers.get("content-range"), text.length]).toEqual([range, 200, null, 0]);
  }

  await writeFile(join(dir, "large.txt"), "changed");
  const changed = await get({ "if-none-match": etag });
  expect([changed.response.status, changed.text.toString()]).toEqual([200, "changed"]);
});

test("what was published can be had as one archive", async () => {
  await using house = await withPublished();
  const { id } = await onlyAgent(house);
  const response = await house.fetch(`/agents/${id}/workspace/${PUBLISHED}?archive=zip`);
  expect([response.status, response.headers.get("content-type"), response.headers.get("content-disposition")]).toEqual([
    200,
    "application/zip",
    'attachment; filename="node-1.zip"',
  ]);
  expect(filesIn(Buffer.from(await response.arrayBuffer()))).toEqual({
    "a.md": "A: 80\n",
    "page.html": "<script>alert(1)</script>",
  });
  expect((await house.get(`/agents/${id}/workspace/runs?archive=zip`)).status).toBe(400);
  expect((await house.get(`/agents/${id}/workspace/runs/run-1/nodes/node-9/published?archive=zip`)).status).toBe(404);
});

test.skipIf(process.platform !== "linux")(
  "a client that leaves in the middle of a download leaves no file open",
  async () => {
    const large = { path: "scratch/large.bin", content: randomBytes(7_000_000).toString("base64") };
    await using house = await withPublished(call("write_file", large));
    const { id } = await onlyAgent(house);
    const isOpen = async () => {
      const targets = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
      return (await Promise.all(targets)).some((target) => target.endsWith("/large.bin"));
    };
    for (const path of [`${PUBLISHED}?archive=zip`, `${PUBLISHED}/large.bin`]) {
      const asked = request(`${house.url}/agents/${id}/workspace/${path}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
        agent: false,
      }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      await once(answer, "readable");
      await expect.poll(isOpen).toBe(true);
      answer.destroy();
      await expect.poll(isOpen, { message: path }).toBe(false);
    }
  },
);

test("a folder with more files than are listed says so on its last page", async () => {
  await using house = await withPublished();
  const { id, dir } = await onlyAgent(house);
  const many = join(dir, "memory", "many");
  await mkdir(many);
  const names = Array.from({ length: 10_001 }, (_, at) => `${at}`);
  for (const name of names) closeSync(openSync(join(many, name), "w"));
  let [listed, after, truncated]: [number, string | null, boolean[]] = [0, "", []];
  while (after !== null) {
    const { body } = await house.get(
      `/agents/${id}/workspace/memory/many?limit=1000${after && `&after=${encodeURIComponent(after)}`}`,
    );
    const page = body as { entries: unknown[]; next_after: string | null; truncated: boolean };
    listed += page.entries.length;
    truncated = [...truncated, page.truncated];
    after = page.next_after;
  }
  expect([listed, truncated]).toEqual([10_000, [...Array(9).fill(false), true]]);
});

test("no name leads out of an agent's files", async () => {
  await using house = await withPublished();
  const { id, dir } = await onlyAgent(house);
  await writeFile(join(house.runtime.store.root, "secret.md"), "a secret");
  await symlink(join(house.runtime.store.root, "secret.md"), join(dir, "link.md"));
  await symlink(house.runtime.store.root, join(dir, "memory", "out"));
  const names = [
    "..%2f..%2fsecret.md",
    "%2e%2e/%2e%2e/secret.md",
    "runs/..%2f..%2f..%2fsecret.md",
    "%2fetc%2fpasswd",
    "link.md",
    "memory/out/secret.md",
    ".index/memory.sqlite",
    "~%2fsecret.md",
    "a%00b",
    "a%5c..%5csecret.md",
    "GOAL.md/x",
  ];
  for (const root of ["workspace", "memory"]) {
    for (const name of [...names, "out/secret.md"]) {
      const { status, body } = await house.get(`/agents/${id}/${root}/${name}`);
      expect([400, 403, 404], `${root}/${name}`).toContain(status);
      expect(JSON.stringify(body)).not.toContain("a secret");
    }
  }
  const status = async (path: string) => (await house.get(`/agents/${id}/${path}`)).status;
  expect(await status("workspace/..%2f..%2fsecret.md")).toBe(403);
  expect(await status("workspace/link.md")).toBe(403);
  expect(await status("workspace/.index/memory.sqlite")).toBe(403);
  expect(await status("memory/..%2fGOAL.md")).toBe(403);
});

async function withPublished(...more: ReturnType<typeof call>[]): Promise<TestServer> {
  const house = await startServer({
    coordinator: script(
      call("create_work_node", { task: "Measure" }),
      call("finish", { summary: "Done" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/a.md", content: "A: 80\n" }),
        call("write_file", { path: "scratch/page.html", content: "<script>alert(1)</script>" }),
        ...more,
        call("publish", { summary: "A: 80" }),
      ),
    },
  });
  await checkResponses(house);
  const { body } = await house.post("/agents", { goal: "Measure", worker_model: "scripted/worker" });
  await house.until((body as { id: string }).id, ({ agent }) => agent.status === "completed");
  return house;
}

async function onlyAgent(house: TestServer): Promise<{ id: string; dir: string }> {
  const [id] = await house.runtime.store.agents();
  if (!id) throw new Error("There is no agent.");
  return { id, dir: (await house.runtime.store.open(id)).dir };
}

/** By the archive's own table of contents. */
function filesIn(zip: Buffer): Record<string, string> {
  const files: Record<string, string> = {};
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [size, nameLength, extra, comment] = [
      zip.readUInt32LE(at + 20),
      zip.readUInt16LE(at + 28),
      zip.readUInt16LE(at + 30),
      zip.readUInt16LE(at + 32),
    ];
    const local = zip.readUInt32LE(at + 42);
    const name = zip.subarray(at + 46, at + 46 + nameLength).toString();
    const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const data = zip.subarray(from, from + size);
    files[name] = (zip.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data)).toString();
    at += 46 + nameLength + extra + comment;
  }
  return files;
}
