import { type DeliveryRow, deliveryColumns, type Stored, triedRow } from '../../delivery-row.js';
import type { Outcome } from '../../group-commit.js';
import { ownSqlFault, withSqliteFaults } from './faults.js';
import type { Prepared, RawDatabase } from './prepared.js';
import { inTransaction } from './transaction.js';

const insert = `INSERT INTO webhook_inbox (${deliveryColumns.join(', ')})
  VALUES (${deliveryColumns.map(() => '?').join(', ')}) ON CONFLICT (event_id, installation) DO NOTHING`;

/**
 * Returns a function that stores deliveries in one durable transaction, in their order. One that cannot be stored does
 * not affect the others. Throws when the transaction failed, so that nothing is stored.
 */
export function acceptingOnSqlite(
  raw: RawDatabase,
  file: string,
): (rows: readonly DeliveryRow[]) => readonly Outcome<Stored>[] {
  let prepared: Prepared<DeliveryRow> | undefined;
  const store = (row: DeliveryRow): Outcome<Stored> => {
    prepared ??= raw.prepare<DeliveryRow>(insert);
    return { ok: true, result: prepared.run(...row).changes === 1 ? 'stored' : 'duplicate' };
  };
  const storeAmongOthers = (row: DeliveryRow): Outcome<Stored> => {
    try {
      return store(row);
    } catch (error) {
      // Errors such as a full disk end the transaction, and the rows before this one are gone with it.
      if (!raw.inTransaction) throw error;
      return { ok: false, error: ownSqlFault(error, file) };
    }
  };
  return (rows) =>
    withSqliteFaults(file, () =>
      // A single statement is a transaction of its own.
      rows.length === 1 ? rows.map(store) : inTransaction(raw, () => rows.map(storeAmongOthers)),
    );
}

/**
 * Returns a function that stores a delivery and deletes it again in one durable transaction, which no reader notices.
 * Throws what the storing of a delivery would throw.
 */
export function tryingOnSqlite(raw: RawDatabase, file: string): () => void {
  return () =>
    withSqliteFaults(file, () =>
      inTransaction(raw, () => {
        const { lastInsertRowid } = raw.prepare<DeliveryRow>(insert).run(...triedRow);
        raw.prepare('DELETE FROM webhook_inbox WHERE inbox_no = ?').run(lastInsertRowid);
      }),
    );
}
