import type { Cell, ExportColumn, RowSource } from './ports.js';

/** Yields one object per line with every column. Integers keep all digits; JSON columns are JSON values, not text. */
export async function* jsonLines({ columns, rows }: RowSource): AsyncGenerator<string> {
  const names = columns.map(({ name }) => JSON.stringify(name));
  for await (const row of rows()) {
    const members = columns.map((column, index) => `${names[index]}:${encode(column, row[index] ?? null)}`);
    yield `{${members.join(',')}}\n`;
  }
}

function encode({ kind }: ExportColumn, cell: Cell): string {
  if (cell === null) return 'null';
  // JSON has no number for these.
  if (typeof cell === 'number' && !Number.isFinite(cell)) return JSON.stringify(String(cell));
  if (typeof cell !== 'string') return String(cell);
  return kind === 'json' ? cell : JSON.stringify(cell);
}
