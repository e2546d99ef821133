import { expect, test } from 'vitest';
import { foreignConstraint } from '../../../../src/store/dialect/postgres/foreign-constraint.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { postgresStore } from '../../postgres-store.js';

const row = `INSERT INTO pauses (source, paused_at) VALUES ('Ann Example', '2026-11-01T00:00:00.000Z')`;

test.each([
  [
    'a check',
    'ALTER TABLE pauses ADD CONSTRAINT helpdesk_short CHECK (length(source) < 3)',
    'ALTER TABLE pauses DROP CONSTRAINT helpdesk_short',
    'the constraint or unique index helpdesk_short of pauses (23514)',
    'ALTER TABLE public.pauses DROP CONSTRAINT helpdesk_short, or DROP INDEX public.helpdesk_short.',
  ],
  [
    'a unique index',
    'CREATE UNIQUE INDEX helpdesk_once ON pauses ((1)); INSERT INTO pauses (source, paused_at) VALUES ($$b$$, $$2026-11-01T00:00:00.000Z$$)',
    'DROP INDEX helpdesk_once; DELETE FROM pauses',
    'the constraint or unique index helpdesk_once of pauses (23505)',
    'DROP INDEX public.helpdesk_once.',
  ],
  [
    'a column without a default',
    'ALTER TABLE pauses ADD COLUMN ticket_of_helpdesk text NOT NULL',
    'ALTER TABLE pauses DROP COLUMN ticket_of_helpdesk',
    'the column ticket_of_helpdesk of pauses, which has no default (23502)',
    'ALTER TABLE public.pauses ALTER ticket_of_helpdesk DROP NOT NULL.',
  ],
])(
  '%s that was added to a table by hand is named with the statement that ends it, and without the row',
  async (_, add, drop, what, statement) => {
    const database = await postgresStore();
    await database.pool.query(add);
    const failed = await inTransaction(database, (transaction) => transaction.run(row)).catch(
      (error: unknown) => error,
    );
    await database.pool.query(drop);
    expect(failed).toMatchObject({
      code: 'database_unusable',
      message: `${database.url} refuses a row because of ${what}`,
      about: { hint: expect.stringContaining(statement) as unknown },
    });
    expect(JSON.stringify(failed)).not.toContain('Ann');
    expect((failed as Error).cause).toBeUndefined();
    await inTransaction(database, (transaction) => transaction.run(row));
  },
);

test('no constraint, index or column of the mirror itself counts as added by hand', async () => {
  const { pool } = await postgresStore();
  const { rows } = await pool.query<{ table: string; constraint: string | null; column: string | null }>(
    `WITH mirror AS (
       SELECT oid, relname FROM pg_class
       WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'rosterd_identity'::regnamespace)
     )
     SELECT relname::text AS table, conname::text AS constraint, NULL AS column FROM mirror m JOIN pg_constraint ON conrelid = m.oid
     UNION ALL SELECT m.relname, i.relname, NULL FROM mirror m JOIN pg_index x ON indrelid = m.oid JOIN pg_class i ON i.oid = indexrelid
     UNION ALL SELECT relname, NULL, attname FROM mirror m JOIN pg_attribute ON attrelid = m.oid AND attnum > 0 AND NOT attisdropped`,
  );
  expect(rows.length).toBeGreaterThan(400);
  const foreign = rows.filter(({ table, constraint, column }) => {
    const refused = {
      code: '23514',
      schema: 'public',
      table,
      ...(constraint === null ? { column } : { constraint }),
    };
    return foreignConstraint(Object.assign(new Error('refused'), refused) as never, 'url') !== null;
  });
  expect(foreign).toEqual([]);
});
