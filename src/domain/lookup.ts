/**
 * Returns a table for lookups with untrusted keys. It has no prototype, so `constructor` and the like are not in it,
 * neither by index nor for `in`.
 */
export function lookup<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, Value>, entries));
}
