import { xlsx } from '../exports/xlsx.js';
import type { QueryHandle } from './query.js';
import { typedRows } from './query-kinds.js';

/**
 * Returns the result of a query as an Excel workbook. `run` is called twice: see `typedRows`. The workbook is complete
 * before its first byte is sent, so that a text too long for a cell is reported and not sent as half a file;
 * compressed, it fits the memory. `check` throws for a result that may not become a file.
 */
export async function queryXlsx(
  run: () => Promise<QueryHandle>,
  check: (handle: QueryHandle) => void,
): Promise<AsyncIterable<Uint8Array>> {
  const { rows, checkAgain } = await typedRows(run, check);
  const pieces: Uint8Array[] = [];
  for await (const piece of xlsx(rows, { sheet: 'query' })) pieces.push(piece);
  checkAgain();
  return (async function* () {
    yield* pieces;
  })();
}
