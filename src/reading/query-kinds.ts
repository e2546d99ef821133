import { Fault } from '../domain/fault.js';
import { parseInstant } from '../domain/instant.js';
import type { Cell, ExportColumn, RowSource } from '../exports/ports.js';
import { cellOf, type QueryHandle, type SqlValue } from './query.js';
import { distinct } from './query-json-lines.js';

export type Kind = Extract<ExportColumn['kind'], 'number' | 'real' | 'text' | 'time'>;

/** The integers of 64 bits. */
const largest = 2n ** 63n;

/**
 * Returns the result of a query with a kind for each column. `run` is called twice: the columns of a query have no type,
 * so the first run finds the narrowest kind that holds every value, and the second one is read for the rows. `check`
 * throws for a result that may not become a file; the caller calls it again after the rows.
 */
export async function typedRows(
  run: () => Promise<QueryHandle>,
  check: (handle: QueryHandle) => void,
): Promise<{ readonly rows: RowSource; readonly checkAgain: () => void }> {
  const first = await run();
  const kinds = await kindsOf(first);
  check(first);
  const handle = await run();
  const columns = distinct(handle.columns).map(
    (name, at): ExportColumn => ({ name, kind: kinds[at] ?? 'text' }),
  );
  const rows = async function* () {
    for await (const row of handle.rows) yield row.map((value, at) => cellAs(kinds[at] ?? 'text', value));
  };
  return { rows: { columns, rows }, checkAgain: () => check(handle) };
}

async function kindsOf({ columns, rows }: QueryHandle): Promise<readonly Kind[]> {
  const kinds: (Kind | null)[] = columns.map(() => null);
  for await (const row of rows)
    for (const [at, value] of row.entries()) {
      const kind = kindOf(value);
      const before = kinds[at] ?? null;
      if (kind !== null) kinds[at] = before === null || before === kind ? kind : widened(before, kind);
    }
  return kinds.map((kind) => kind ?? 'text');
}

const isNumeric = (kind: Kind): boolean => kind === 'number' || kind === 'real';

const widened = (one: Kind, other: Kind): Kind => (isNumeric(one) && isNumeric(other) ? 'real' : 'text');

function kindOf(value: SqlValue): Kind | null {
  if (value === null) return null;
  if (typeof value === 'bigint') return value < largest && value >= -largest ? 'number' : 'text';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'number' : 'real';
  // Only the form in which the mirror stores times: other texts may be dates of a person's own.
  return typeof value === 'string' && parseInstant(value) === value ? 'time' : 'text';
}

function cellAs(kind: Kind, value: SqlValue): Cell {
  if (value === null) return null;
  if (kind === 'text') return String(cellOf(value));
  const now = kindOf(value);
  if (now === kind || (kind === 'real' && now === 'number')) return cellOf(value);
  throw new Fault('usage', 'the data changed while the file was written', { hint: 'Download it again.' });
}
