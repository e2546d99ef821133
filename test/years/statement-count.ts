import Sqlite from 'better-sqlite3';

const calls = ['run', 'get', 'all', 'iterate'] as const;

/** Counts the statements of all SQLite connections of this process until `stop`. */
export function countStatements(): { readonly count: () => number; readonly stop: () => void } {
  const memory = new Sqlite(':memory:');
  const statement = Object.getPrototypeOf(memory.prepare('SELECT 1')) as Record<string, unknown>;
  memory.close();
  let count = 0;
  const before = calls.map((name) => [name, statement[name]] as const);
  for (const [name, original] of before)
    statement[name] = function counted(this: unknown, ...values: unknown[]): unknown {
      count += 1;
      return (original as (...values: unknown[]) => unknown).apply(this, values);
    };
  return {
    count: () => count,
    stop: () => {
      for (const [name, original] of before) statement[name] = original;
    },
  };
}
