import type { Ask, AskRows } from '../port.js';
import { connectSqlite } from './connect.js';
import { ownSqlFault } from './faults.js';

/** Runs `work` in one read transaction. It stays open across awaits, so it has its own read-only connection. */
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

/** The same for results of any size, which are read row by row. */
export async function sqliteRowSnapshot<Result>(
  file: string,
  work: (ask: AskRows) => Promise<Result>,
): Promise<Result> {
  const connection = connectSqlite(file, { readonly: true });
  const { raw } = connection;
  try {
    raw.exec('BEGIN');
    return await work(async function* <Row>(sql: string, values: readonly (string | number)[] = []) {
      yield* raw.prepare<(string | number)[], Row>(sql).iterate(...values);
    });
  } catch (error) {
    throw ownSqlFault(error, file);
  } finally {
    connection.close();
  }
}
