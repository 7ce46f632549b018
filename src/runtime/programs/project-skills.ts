import { z } from "zod";
import type { ProgramProfile } from "../../protocol/index.ts";
import { allFilesIn, putFile, readPart } from "../../store/disk/foreign-folder.ts";

/**
 * The project's skills, copied into a program's own home, where it looks for those of its user. In the project they are
 * in hidden folders, which no program sees.
 *
 * SKILLS-1. No link is followed, and no hidden file of a skill is copied.
 * SKILLS-2. Of what a skill says about itself, only its name and its description are copied: it cannot bring hooks, nor
 *     allow tools that a person would be asked about.
 */
export async function copySkills(project: string, home: string, profile: ProgramProfile): Promise<void> {
  const to = skillFolderOf(profile);
  if (to === undefined) return;
  /** Which folder a skill is from: programs keep copies of the same ones. */
  const from = new Map<string, string>();
  for (const folder of SKILL_FOLDERS) {
    const { files } = await allFilesIn(project, folder.split("/"), BOUNDS);
    for (const { path, bytes } of files) {
      const [skill = "", ...below] = path.split("/");
      if (below.length === 0 || bytes > MOST_BYTES || path.split("/").some((name) => name.startsWith("."))) continue;
      if (!from.has(skill)) from.set(skill, folder);
      if (from.get(skill) !== folder) continue;
      const content = await readPart(project, `${folder}/${path}`, 0, MOST_BYTES);
      const copied = content && below.join("/") === "SKILL.md" ? await described(content.toString("utf8")) : content;
      // Where the program has laid something in the way, it goes without.
      if (copied !== undefined) await putFile(home, `${to}/${path}`, copied).catch(() => {});
    }
  }
}

const SKILL_FOLDERS = [".agents/skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".opencode/skills"];
const BOUNDS = { folders: 500, names: 2000, deepest: 6 };
const MOST_BYTES = 1024 * 1024;

/** Where a program looks for the skills of its user; a program that speaks by files knows none. */
function skillFolderOf({ kind, quirks }: ProgramProfile): string | undefined {
  if (kind === "claude_code" || quirks === "claude") return ".claude/skills";
  return kind === "acp" ? ".agents/skills" : undefined;
}

const aboutSchema = z.object({ name: z.string().optional(), description: z.string() });

/** The same skill with its name and description alone; undefined if it does not describe itself. */
async function described(text: string): Promise<string | undefined> {
  const found = /^\s*---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text.replace(/^\uFEFF/, ""));
  if (!found) return undefined;
  const { parse, stringify } = await import("yaml");
  try {
    const about = aboutSchema.parse(parse(found[1] ?? ""));
    return `---\n${stringify(about)}---\n${text.replace(/^\uFEFF/, "").slice(found[0].length)}`;
  } catch {
    return undefined;
  }
}
