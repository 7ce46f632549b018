/**
 * What Node's own modules give, without importing them: an `import` of one reads every export there is, and those of
 * `node:http` load the whole of `fetch` and `WebSocket`, those of `node:crypto` the whole of `webcrypto`.
 *
 * BUILTINS-1. What an older Node has to read (`right-node`) keeps its imports: `getBuiltinModule` came with 20.16.
 */
export const builtinsWithoutImport = {
  name: "builtins-without-import",
  renderChunk(code, { name }) {
    if (name === "right-node") return null;
    const lines = code.split("\n");
    // Imports are the first lines; further down the same words are part of a text.
    const end = lines.findIndex((line) => !/^(import |#!|\/\/|$)/.test(line));
    const head = lines.slice(0, end).map((line) => line.replace(/^import (.+) from "(node:[\w/]+)";$/, withoutImport));
    return { code: [...head, ...lines.slice(end)].join("\n"), map: null };
  },
};

function withoutImport(line, names, id) {
  const [, standard, whole, some] = /^(?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:\{(.*)\})?$/.exec(names) ?? [];
  const taken = [standard, whole, some && `{${some.replaceAll(" as ", ": ")}}`].filter(Boolean);
  if (taken.length === 0) throw new Error(`This import cannot be read: ${line}`);
  return taken.map((name) => `const ${name} = globalThis.process.getBuiltinModule("${id}");`).join(" ");
}

/**
 * What is loaded to open a home (`entry`) lies in a few files. Left to itself the bundler makes one for every different
 * set of programs that need something, some eighty.
 *
 * PARTS-1. Each of `programs` has a part: what it loads and those before it do not. The rest is divided by how many of
 *     the commands that go without `opens` load it: many, few, none. So none of them loads much that it does not need.
 * PARTS-2. Whoever loads a module loads what it imports, so that is in the same part or in an earlier one, and no two
 *     parts import each other.
 */
export function partsOf({ entry, opens, programs, commandsIn }) {
  const modules = new Map();
  let parts;
  const partOf = (id) => {
    parts ??= divided();
    return parts.get(id);
  };
  const divided = () => {
    const loaded = Object.entries(programs).map(([name, id]) => [name, loadedWith(id, modules)]);
    const later = [...modules.values()].flatMap(({ dynamicallyImportedIds }) => dynamicallyImportedIds);
    const commands = [...new Set(later.filter((id) => id.startsWith(commandsIn)))]
      .map((id) => loadedWith(id, modules))
      .filter((all) => !all.has(opens));
    const part = (id) => {
      const [name] = loaded.find(([, all]) => all.has(id)) ?? [];
      const share = commands.filter((all) => all.has(id)).length / commands.length;
      return name ?? (share > MANY ? "common" : share > 0 ? "seldom" : "runtime");
    };
    return new Map([...loadedWith(entry, modules)].map((id) => [id, part(id)]));
  };
  const names = [...Object.keys(programs), "common", "seldom", "runtime"];
  return {
    reader: { name: "read-modules", moduleParsed: (module) => void modules.set(module.id, module) },
    // A group takes with it what its modules import, unless a group of a higher priority has it already.
    groups: names.map((name, i) => ({ name, priority: names.length - i, test: (id) => partOf(id) === name })),
  };
}

/** With this share `ls` and its like take no more CPU time than without parts, and the runtime loads as fast as one file. */
const MANY = 0.12;

function loadedWith(start, modules) {
  const seen = new Set();
  const visit = (id) => {
    if (seen.has(id) || !modules.has(id)) return;
    seen.add(id);
    for (const imported of modules.get(id).importedIds) visit(imported);
  };
  visit(start);
  return seen;
}
