import type { Ask } from '../../reads/snapshot.js';
import { connectSqlite } from './connect.js';
import { ownSqlFault } from './faults.js';

/** The transaction stays open over awaits, so the connection is its own and reads only. */
export async function sqliteSnapshot<Result>(
  file: string,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const connection = connectSqlite(file, { readonly: true });
  const { raw } = connection;
  try {
    raw.exec('BEGIN');
    return await work(async <Row>(text: TemplateStringsArray, ...values: readonly (string | number)[]) =>
      raw.prepare<(string | number)[], Row>(text.join('?')).all(...values),
    );
  } catch (error) {
    throw ownSqlFault(error, file);
  } finally {
    connection.close();
  }
}
