/** By which the kind of a file is told: what its name ends with. */
export function kindOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}
