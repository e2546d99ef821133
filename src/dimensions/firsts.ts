/** Returns the first of the items with each key. */
export function firsts<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => unknown,
): ReadonlyMap<unknown, Item> {
  const found = new Map<unknown, Item>();
  for (const item of items) {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, item);
  }
  return found;
}
