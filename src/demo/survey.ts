import { z } from "zod";

export const SURVEYOR = "demo/surveyor";

const seen = { path: z.string(), bytes: z.int().nonnegative() };
/** What was noted about one file. */
const fileNoteSchema = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("read"),
    ...seen,
    /** False: only the first part was read, and the figures are about that part. */
    whole: z.boolean(),
    lines: z.int(),
    words: z.int(),
    title: z.string(),
    quote: z.string().nullable(),
    /** Links to files that are not there, as written. */
    broken: z.array(z.string()),
    todos: z.int(),
    fingerprint: z.string(),
  }),
  z.object({ state: z.literal("empty"), ...seen }),
  z.object({ state: z.literal("binary"), ...seen }),
  z.object({ state: z.literal("refused"), ...seen, why: z.string() }),
]);
export type FileNote = z.infer<typeof fileNoteSchema>;
export type ReadNote = Extract<FileNote, { state: "read" }>;

/** Everything that one survey found out. Published beside the report, so that several can become one. */
const surveySchema = z.object({
  made_by: z.literal(SURVEYOR),
  subject: z.string(),
  /** What the reader should know. */
  remarks: z.array(z.string()),
  notes: z.array(fileNoteSchema),
});
export type Survey = z.infer<typeof surveySchema>;

/** One value per line: the file tools show long files by lines, and cut lines that are too long. */
export function surveyText(survey: Survey): string {
  return `${JSON.stringify(survey, null, 1)}\n`;
}

/** Undefined if the text is not a survey, or was cut off. */
export function parseSurvey(text: string): Survey | undefined {
  try {
    return surveySchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function joinSurveys(subject: string, parts: readonly Survey[], remarks: readonly string[]): Survey {
  const notes = parts.flatMap((part) => part.notes).sort((a, b) => (a.path < b.path ? -1 : 1));
  const all = [...new Set([...remarks, ...parts.flatMap((part) => part.remarks)])];
  return { made_by: SURVEYOR, subject, remarks: all, notes };
}

/** What a file is, as far as its name tells. */
export function kindOf(path: string): { name: string; family: "text" | "code" | "data" | "binary" } {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const extension = name.lastIndexOf(".") > 0 ? name.slice(name.lastIndexOf(".") + 1) : "";
  const known = KINDS.get(extension);
  if (known) return known;
  return extension ? { name: `.${extension}`, family: "data" } : { name: "plain text", family: "text" };
}

type Kind = ReturnType<typeof kindOf>;
const KINDS: ReadonlyMap<string, Kind> = new Map(
  (
    [
      ["text", "Markdown: md markdown mdx · text: txt · HTML: html htm · reStructuredText: rst · LaTeX: tex"],
      ["code", "TypeScript: ts tsx mts · JavaScript: js jsx mjs cjs · Python: py · Rust: rs · Go: go · Java: java"],
      ["code", "C: c h · C++: cc cpp hpp · C#: cs · Ruby: rb · PHP: php · shell: sh bash · SQL: sql · CSS: css scss"],
      ["data", "JSON: json jsonl · YAML: yaml yml · TOML: toml · XML: xml · CSV: csv tsv · lock file: lock · SVG: svg"],
      [
        "binary",
        "image: png jpg jpeg gif webp ico tiff · PDF: pdf · archive: zip gz tgz tar xz bz2 7z · font: ttf woff2",
      ],
      ["binary", "audio: mp3 wav ogg flac · video: mp4 mov mkv webm · office document: doc docx xls xlsx ppt pptx odt"],
      ["binary", "database: sqlite db · program: exe dll so dylib o wasm bin"],
    ] as const
  ).flatMap(([family, list]) =>
    list.split(" · ").flatMap((row): [string, Kind][] => {
      const [name = "", extensions = ""] = row.split(": ");
      return extensions.split(" ").map((extension) => [extension, { name, family }]);
    }),
  ),
);
