import type { Cell, ExportColumn, RowSource } from '../../src/exports/ports.js';

export function rowSource(columns: readonly ExportColumn[], rows: readonly (readonly Cell[])[]): RowSource {
  return {
    columns,
    async *rows() {
      yield* rows;
    },
  };
}

export async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}
