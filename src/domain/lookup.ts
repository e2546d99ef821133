/**
 * A table that is asked with words from outside. It has no prototype, so that `constructor` and its kind are not in
 * it, neither for an index nor for `in`.
 */
export function lookup<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, Value>, entries));
}
