import type pg from 'pg';

export interface Described {
  readonly columns: readonly string[];
  /** By their numbers in `pg_type`. */
  readonly types: readonly number[];
}

/**
 * Returns the columns of a statement without running or planning it, null for one that has no result. It is sent as
 * one statement of the extended protocol, which refuses two in one text. Rejects with the server's error.
 */
export function described(client: pg.Client, text: string): Promise<Described | null> {
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
        };
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(found),
    } as pg.Submittable);
  });
}
