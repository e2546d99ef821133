import { type DeliveryRow, deliveryColumns, type Stored, triedRow } from '../../delivery-row.js';
import type { Outcome } from '../../group-commit.js';
import { withNamedRights } from './missing-rights.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction, statement, type Transaction } from './transaction.js';

const columns = deliveryColumns.join(', ');
const typeOf = (column: string) => (column === 'test' ? 'smallint' : 'text');

const insertOne = statement(
  'accept_delivery',
  `INSERT INTO webhook_inbox (${columns}) VALUES (${deliveryColumns.map((_, index) => `$${index + 1}`).join(', ')})
   ON CONFLICT (event_id, installation) DO NOTHING`,
);

/** Numbers are assigned in the order of the arrays. Of two equal deliveries in one group, the second conflicts. */
const insertGroup = statement(
  'accept_deliveries',
  `INSERT INTO webhook_inbox (${columns})
   SELECT ${columns} FROM unnest(${deliveryColumns.map((column, index) => `$${index + 1}::${typeOf(column)}[]`).join(', ')})
     WITH ORDINALITY AS delivery (${columns}, place)
   ORDER BY place
   ON CONFLICT (event_id, installation) DO NOTHING RETURNING event_id, installation`,
);

/**
 * Returns a function that stores deliveries with one durable statement, in their order. Throws when it failed, so that
 * nothing is stored.
 */
export function acceptingOnPostgres(
  database: PostgresDatabase,
): (rows: readonly DeliveryRow[]) => Promise<readonly Outcome<Stored>[]> {
  const { pool } = database;
  const storeOne = async (row: DeliveryRow): Promise<Stored> => {
    const { rowCount } = await pool.query({ ...insertOne, values: row });
    return rowCount === 1 ? 'stored' : 'duplicate';
  };
  const storeGroup = async (rows: readonly DeliveryRow[]): Promise<readonly Stored[]> => {
    const values = deliveryColumns.map((_, index) => rows.map((row) => row[index] ?? null));
    const inserted = await pool.query<Key>({ ...insertGroup, values });
    const keys = new Set(inserted.rows.map(keyOf));
    return rows.map(([event_id, installation]) => {
      const key = keyOf({ event_id: String(event_id), installation: String(installation) });
      // Deleted, so that a repetition within the group counts as a duplicate.
      return keys.delete(key) ? 'stored' : 'duplicate';
    });
  };
  return (rows) =>
    withNamedRights(database, async () => {
      const [first] = rows;
      const stored =
        rows.length === 1 && first !== undefined ? [await storeOne(first)] : await storeGroup(rows);
      return stored.map((result) => ({ ok: true, result }));
    });
}

const deleteTried = `DELETE FROM webhook_inbox WHERE event_id = $1 AND installation = $2`;

/**
 * Stores a delivery and deletes it again in one transaction, which no reader notices. Throws what the storing of a delivery
 * would throw, also when the server takes longer than a delivery may take.
 */
export function tryOnPostgres(database: PostgresDatabase): Promise<void> {
  const work = async (transaction: Transaction) => {
    await transaction.run(insertOne, ...triedRow);
    await transaction.run(deleteTried, ...triedRow.slice(0, 2));
  };
  return inTransaction(database, work, { isBrief: true });
}

interface Key {
  readonly event_id: string;
  readonly installation: string;
}

const keyOf = ({ event_id, installation }: Key) => JSON.stringify([event_id, installation]);
