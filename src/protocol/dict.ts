/**
 * Maps that are plain JSON and whose keys come from outside (names, ids): `constructor`, `toString` or `__proto__` are
 * keys like any other. An object made by `{}` or `JSON.parse` would return what it inherits for them.
 */
export function dict<V>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}

/** A table's own entry for a name from outside. */
export function own<V>(table: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Removes inheritance from a map, in place: for one that was read from JSON or cloned. */
export function inheritsNothing<T extends object>(map: T): T {
  return Object.setPrototypeOf(map, null) as T;
}
