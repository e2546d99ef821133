import { gathered } from '../exports/gather.js';
import { jsonLines } from '../exports/json-lines.js';
import { cellOf, type QueryHandle } from './query.js';

/** Returns a result as one object per line, streamed row by row. A column name that repeats gets a number. */
export function queryJsonLines({ columns, rows }: QueryHandle): AsyncIterable<string> {
  return gathered(
    jsonLines({
      columns: distinct(columns).map((name) => ({ name, kind: 'text' as const })),
      async *rows() {
        for await (const row of rows) yield row.map(cellOf);
      },
    }),
  );
}

/** Returns the names with a number after each repeated one: `id`, `id_2`. */
export function distinct(names: readonly string[]): readonly string[] {
  const used = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; used.has(free.toLowerCase()); number += 1) free = `${name}_${number}`;
    used.add(free.toLowerCase());
    return free;
  });
}
