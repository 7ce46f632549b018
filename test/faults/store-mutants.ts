/** Ways to break the store on purpose, as edits of its source. Each must be caught by the crash exploration. */
export interface Mutant {
  bug: string;
  edits: { file: string; find: string; replace: string }[];
}

/** The control: what finds a bug in this one proves nothing. */
export const UNCHANGED: Mutant = { bug: "none", edits: [] };

export const mutants: Mutant[] = [
  mutant("the journal is not written through", "journal/journal.ts", 'open(path, "journal")', 'open(path, "write")'),
  mutant(
    "success is reported when the journal's write begins",
    "journal/journal.ts",
    "    file.handle.writeThrough(roomAhead(file, frame, this.#limit), file.end, (error) => {",
    "    file.handle.writeThrough(roomAhead(file, frame, this.#limit), file.end, () => {});\n    [null as Error | null].forEach((error) => {",
  ),
  mutant(
    "lines go into their files before the journal has them",
    "journal/journal.ts",
    "    const frame = this.#frame.finish(this.#number);",
    "    const frame = this.#frame.finish(this.#number);\n    try {\n      for (const { stream, from, to } of segments) this.#files.write(stream.path, frame.subarray(from, to), stream.size);\n    } catch {}",
  ),
  mutant(
    "the name of a new journal is not synced",
    "journal/journal.ts",
    "      await this.#disk.syncDir(journalDir(this.#root));\n    } catch (error) {\n      handle.close();",
    "    } catch (error) {\n      handle.close();",
  ),
  mutant(
    "the removal of a journal syncs nothing",
    "journal/journal.ts",
    "await this.#files.sync(unsynced, lanes);",
    "void unsynced;",
  ),
  mutant(
    "a journal is removed before its files are synced",
    "journal/journal.ts",
    "await this.#files.sync(unsynced, lanes);",
    "this.#disk.remove(path);\n        await this.#files.sync(unsynced, lanes);",
  ),
  mutant(
    "a failed sync is ignored",
    "journal/open-files.ts",
    "await file.sync();",
    "await file.sync().catch(() => {});",
  ),
  mutant(
    "a full disk counts as success",
    "journal/journal.ts",
    "if (error !== null) this.#takeBack",
    "if (error !== null && !isDiskFull(error)) this.#takeBack",
  ),
  mutant(
    "a failed write counts as success",
    "journal/journal.ts",
    "if (error !== null) this.#takeBack",
    "if (error !== null && isDiskFull(error)) this.#takeBack",
  ),
  mutant(
    "after a full disk the journal is not cut back",
    "journal/journal.ts",
    "        this.#file.handle.truncate(this.#file.end);\n",
    "",
  ),
  mutant(
    "after a full disk the files are not cut back",
    "journal/journal.ts",
    "      for (const { stream } of segments) this.#files.cut(stream.path, stream.size);\n",
    "",
  ),
  {
    bug: "after a full disk the journal is cut back before the files",
    edits: [
      {
        file: "journal/journal.ts",
        find: "      for (const { stream } of segments) this.#files.cut(stream.path, stream.size);\n",
        replace: "",
      },
      {
        file: "journal/journal.ts",
        find: "        this.#file.allocated = this.#file.end;\n      }\n",
        replace:
          "        this.#file.allocated = this.#file.end;\n      }\n      for (const { stream } of segments) this.#files.cut(stream.path, stream.size);\n",
      },
    ],
  },
  mutant("after a refusal numbers do not go back", "journal/journal.ts", "      stream.seq = stream.durableSeq;\n", ""),
  mutant(
    "after a refusal what was queued behind it is still written",
    "journal/journal.ts",
    "      stream.queued = [];\n      stream.seq = stream.durableSeq;",
    "      stream.seq = stream.durableSeq;",
  ),
  mutant("frames are not numbered", "journal/journal.ts", "    this.#number++;\n", ""),
  mutant("a frame is written over the one before it", "journal/journal.ts", "    file.end += frame.length;\n", ""),
  mutant(
    "a new journal takes the file of the old one",
    "journal/journal.ts",
    "journalName(this.#number)",
    "journalName(1)",
  ),
  mutant(
    "a stream's end is not moved on",
    "journal/journal.ts",
    "    for (const { stream, from, to } of segments) stream.size += to - from;\n",
    "",
  ),
  mutant(
    "recovery trusts a journal that is not on disk",
    "journal/recovery.ts",
    "    await syncFile(disk, join(journalDir(root), name));\n",
    "",
  ),
  mutant(
    "recovery reads the newest journal first",
    "journal/recovery.ts",
    "    .sort();",
    "    .sort()\n    .reverse();",
  ),
  mutant(
    "recovery reads only the newest journal",
    "journal/recovery.ts",
    "for (const name of names) {\n    await",
    "for (const name of names.slice(-1)) {\n    await",
  ),
  mutant(
    "recovery does not sync before it removes the journals",
    "journal/recovery.ts",
    "await files.sync(files.takeUnsynced(), 4);",
    "files.takeUnsynced();",
  ),
  mutant(
    "recovery skips what seems to be there",
    "journal/recovery.ts",
    "  files.write(path, bytes, offset);\n",
    "  if (size >= offset + bytes.length) return;\n  files.write(path, bytes, offset);\n",
  ),
  mutant("recovery trusts names that are not on disk", "journal/recovery.ts", "  files.distrust(path);\n", ""),
  mutant(
    "recovery writes at the end instead of in place",
    "journal/recovery.ts",
    "files.write(path, bytes, offset);",
    "files.write(path, bytes, size);",
  ),
  mutant(
    "recovery leaves out the last record stream of a frame",
    "journal/recovery.ts",
    "of found.frame.segments)",
    "of found.frame.segments.slice(0, 1))",
  ),
  mutant(
    "recovery is left out",
    "open-store.ts",
    "const { nextNumber } = await recover(disk, root, files, damage);",
    "const nextNumber = 1;\n    void recover;",
  ),
  mutant(
    "a frame's checksum is not checked",
    "journal/frame.ts",
    "crc32(journal.subarray(at + CRC_FROM, end)) !== journal.readUInt32LE(at + 4)",
    "false",
  ),
  {
    bug: "a frame's checksum covers only its head",
    edits: [
      {
        file: "journal/frame.ts",
        find: "crc32(frame.subarray(CRC_FROM))",
        replace: "crc32(frame.subarray(CRC_FROM, FRAME_HEAD))",
      },
      {
        file: "journal/frame.ts",
        find: "crc32(journal.subarray(at + CRC_FROM, end))",
        replace: "crc32(journal.subarray(at + CRC_FROM, at + FRAME_HEAD))",
      },
    ],
  },
  mutant("names of new files are not synced", "journal/open-files.ts", "      this.distrust(path);\n", ""),
  mutant(
    "only the nearest folder of a new file is synced",
    "journal/open-files.ts",
    '      if (dir === ".") return;',
    "      return;",
  ),
  mutant(
    "what was written is not remembered for the removal of the journal",
    "journal/open-files.ts",
    "    this.#files.add(path);\n    file.write",
    "    file.write",
  ),
  mutant("lines are not ended", "journal/line.ts", '"}\\n`', '"} `'),
  mutant("the home's own name is not synced", "home/home.ts", "  await syncParent(disk, root);\n", ""),
  mutant(
    "VERSION is written in place",
    "home/home.ts",
    "await writeFileAtomic(versionFile(root), ",
    'await ((path: string, text: string, at: Disk) => at.open(path, "write").write(Buffer.from(text), 0))(versionFile(root), ',
  ),
  mutant("a new agent's folder is not synced", "open-store.ts", "    await disk.syncDir(agentsDir(root));\n", ""),
  mutant(
    "facts and entries of one append are two writes",
    "journal/agent-log.ts",
    "for (const head of heads) journal.queue(conversation, head);",
    "setImmediate(() => {\n        for (const head of heads) journal.queue(conversation, head);\n      });",
  ),
  {
    bug: "a snapshot may stand at facts that are not on disk",
    edits: [
      {
        file: "journal/agent-log.ts",
        find: "    if (seq > this.#events.durableSeq) await this.#writable().drained();\n",
        replace: "",
      },
      {
        file: "journal/agent-log.ts",
        find: 'const position = seq === 0 ? { seq, offset: 0, crc: "" } : this.#positionOf(seq);',
        replace: 'const position = { seq, offset: 0, crc: "" };',
      },
      {
        file: "journal/agent-log.ts",
        find: "const fits = position.seq === 0 || this.#positionOf(position.seq, position.offset)?.crc === position.crc;",
        replace: "const fits = true;",
      },
    ],
  },
];

function mutant(bug: string, file: string, find: string, replace: string): Mutant {
  return { bug, edits: [{ file, find, replace }] };
}

/** Every second, third … of them. */
export function someOf(all: readonly Mutant[], every: number): Mutant[] {
  return all.filter((_, at) => at % every === 0);
}
