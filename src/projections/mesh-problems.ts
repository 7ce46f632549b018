/** A problem with a file of a project's meshes, or one that keeps an agent of them from starting. */
export interface MeshProblem {
  file: string;
  problem: string;
}

/** In words. The same problem in several files is reported once, with all their names. */
export function problemWords(problems: readonly MeshProblem[]): string[] {
  const groups = Map.groupBy(problems, ({ file, problem }) =>
    problem.startsWith(`${file}: `) ? problem.slice(file.length + 2) : problem,
  );
  return [...groups].map(([words, [first, ...others]]) => {
    if (!first || others.length === 0) return first?.problem ?? words;
    return `${[first, ...others].map(({ file }) => nameOf(file)).join(", ")}: ${words}`;
  });
}

/** An agent by the folder that declares it: `build/planner`. */
function nameOf(file: string): string {
  return /^meshes\/agents\/(.+)\/config\.json$/.exec(file)?.[1] ?? file;
}
