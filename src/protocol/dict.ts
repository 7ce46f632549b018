/**
 * Maps that are plain JSON and whose keys come from outside (names, ids): `constructor`, `toString` or `__proto__` are
 * keys like any other. An object made by `{}` or `JSON.parse` answers to them with what it inherits.
 */
export function dict<V>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}

/** What a table holds itself under a name from outside. */
export function own<V>(table: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Takes from a map, in place, what every object inherits: for one that was read from JSON or cloned. */
export function inheritsNothing<T extends object>(map: T): T {
  return Object.setPrototypeOf(map, null) as T;
}
