import type pg from 'pg';

export interface Described {
  readonly columns: readonly string[];
  /** OIDs of `pg_type`. */
  readonly types: readonly number[];
  /** OIDs of `pg_class`, and numbers of columns; 0 for what is no column of a relation. */
  readonly tables: readonly number[];
  readonly attributes: readonly number[];
}

/**
 * Returns the columns of a statement without running or planning it, or null if the statement returns no rows. Uses the
 * extended protocol, which rejects two statements in one text. Rejects with the server's error.
 */
export function describeColumns(client: pg.Client, text: string): Promise<Described | null> {
  return new Promise((resolve, reject) => {
    let found: Described | null = null;
    client.query({
      submit(connection: pg.Connection): void {
        connection.parse({ text, name: '', types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleParseComplete(): void {},
      handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
        found = {
          columns: fields.map(({ name }) => name),
          types: fields.map(({ dataTypeID }) => dataTypeID),
          tables: fields.map(({ tableID }) => tableID),
          attributes: fields.map(({ columnID }) => columnID),
        };
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(found),
    } as pg.Submittable);
  });
}
