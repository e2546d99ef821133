/** Counts the calls of methods that all connections of this process inherit from `prototype`, until `stop`. */
export function countCalls(
  prototype: object,
  methods: readonly string[],
): { readonly count: () => number; readonly stop: () => void } {
  const inherited = prototype as Record<string, unknown>;
  let count = 0;
  const before = methods.map((name) => [name, inherited[name]] as const);
  for (const [name, original] of before)
    inherited[name] = function counted(this: unknown, ...values: unknown[]): unknown {
      count += 1;
      return (original as (...values: unknown[]) => unknown).apply(this, values);
    };
  return {
    count: () => count,
    stop: () => {
      for (const [name, original] of before) inherited[name] = original;
    },
  };
}
