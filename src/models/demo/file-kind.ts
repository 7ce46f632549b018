/** What a file is, as far as its name tells. */
export interface FileKind {
  name: string;
  family: "prose" | "code" | "data" | "binary";
}

export function kindOf(path: string): FileKind {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const known = BY_NAME.get(name);
  if (known) return known;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? name.slice(dot + 1) : "";
  return (
    BY_EXTENSION.get(extension) ?? {
      name: extension ? `.${extension}` : "plain text",
      family: extension ? "data" : "prose",
    }
  );
}

const KINDS: readonly [FileKind["family"], string][] = [
  [
    "prose",
    "Markdown: md markdown mdx · text: txt text · reStructuredText: rst · AsciiDoc: adoc asciidoc · Org: org · LaTeX: tex",
  ],
  ["prose", "HTML: html htm xhtml"],
  ["code", "TypeScript: ts tsx mts cts · JavaScript: js jsx mjs cjs · Python: py pyi · Rust: rs · Go: go · Java: java"],
  [
    "code",
    "Kotlin: kt kts · Swift: swift · C: c h · C++: cc cpp cxx hpp hh · C#: cs · Ruby: rb · PHP: php · Perl: pl pm",
  ],
  [
    "code",
    "shell: sh bash zsh fish · SQL: sql · CSS: css scss sass less · Lua: lua · R: r · Scala: scala · Elixir: ex exs",
  ],
  [
    "code",
    "Haskell: hs · OCaml: ml mli · Zig: zig · Dart: dart · Vue: vue · Svelte: svelte · PowerShell: ps1 · protobuf: proto",
  ],
  ["data", "JSON: json jsonl ndjson json5 · YAML: yaml yml · TOML: toml · XML: xml xsd xsl · CSV: csv tsv · log: log"],
  ["data", "settings: ini cfg conf env properties · lock file: lock · diff: diff patch · SVG: svg"],
  [
    "binary",
    "image: png jpg jpeg gif webp bmp ico tif tiff avif heic psd · PDF: pdf · archive: zip gz tgz tar xz bz2 7z rar zst jar",
  ],
  ["binary", "audio: mp3 wav ogg flac m4a aac · video: mp4 mov avi mkv webm · font: ttf otf woff woff2 eot"],
  ["binary", "office document: doc docx xls xlsx ppt pptx odt ods odp epub · database: sqlite db sqlite3 mdb"],
  ["binary", "program: exe dll so dylib o a class pyc wasm bin node · disk image: iso dmg img"],
];

const BY_EXTENSION: ReadonlyMap<string, FileKind> = new Map(
  KINDS.flatMap(([family, list]) =>
    list.split(" · ").flatMap((row) => {
      const [name = "", extensions = ""] = row.split(": ");
      return extensions.split(" ").map((extension) => [extension, { name, family }] as const);
    }),
  ),
);

const BY_NAME: ReadonlyMap<string, FileKind> = new Map([
  ["dockerfile", { name: "Dockerfile", family: "code" }],
  ["makefile", { name: "Makefile", family: "code" }],
  ["package-lock.json", { name: "lock file", family: "data" }],
  ["pnpm-lock.yaml", { name: "lock file", family: "data" }],
  ["yarn.lock", { name: "lock file", family: "data" }],
]);
