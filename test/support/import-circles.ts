/** Each file with the files it imports. */
export type ImportGraph = Readonly<Record<string, readonly string[]>>;

/**
 * Returns every group of files that import one another, directly or through others (the strongly connected components
 * of more than one file, and files that import themselves). Uses Tarjan's algorithm; sorted, for readable failures.
 */
export function circlesIn(graph: ImportGraph): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  function visit(file: string): number {
    const index = order.size;
    order.set(file, index);
    lowest.set(file, index);
    stack.push(file);
    for (const imported of graph[file] ?? []) {
      if (!order.has(imported)) lower(file, visit(imported));
      else if (stack.includes(imported)) lower(file, order.get(imported) ?? index);
    }
    if (lowest.get(file) === index) {
      const members = stack.splice(stack.indexOf(file));
      if (members.length > 1 || graph[file]?.includes(file) === true) circles.push(members.sort());
    }
    return lowest.get(file) ?? index;
  }

  function lower(file: string, to: number): void {
    lowest.set(file, Math.min(lowest.get(file) ?? to, to));
  }

  for (const file of Object.keys(graph)) if (!order.has(file)) visit(file);
  return circles.sort(([a = ''], [b = '']) => a.localeCompare(b));
}
