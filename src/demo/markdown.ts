/** Escapes names and text from files, so that Markdown does not change them. */
export function code(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(0, ...runs.map((run) => run.length)) + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text.replace(/[\r\n]/g, " ")}${pad}${fence}`;
}

/** In a table, even code ends at a vertical bar. */
export function codeCell(text: string): string {
  return code(text).replaceAll("|", "\\|");
}

export function escaped(text: string): string {
  return text
    .replace(/[\r\n]+/g, " ")
    .replace(/[\\`*<>[\]|]/g, "\\$&")
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_")
    .replace(/^(?=[#+-]|\d+[.)])/, "\\");
}

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

export function grouped(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

export function size(bytes: number): string {
  if (bytes < 1000) return counted(bytes, "byte");
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, "kB"] : bytes < 1e9 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

export function enumeration(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** The first few, and how many more there are. */
export function some(items: readonly string[], most: number): string {
  const rest = items.length - most;
  return rest > 0 ? `${items.slice(0, most).join(", ")} and ${grouped(rest)} more` : enumeration(items);
}

/** The path of a user's file without the prefix of its mount. */
export function shown(path: string): string {
  return path === "project" ? "the project" : path.replace(/^project\//, "");
}

export function cut(text: string, length: number): string {
  const chars = [...text];
  return chars.length > length ? `${chars.slice(0, length - 1).join("")}…` : text;
}
