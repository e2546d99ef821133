import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Check } from '../../src/doctor/check.js';
import { postgresChecks } from '../../src/doctor/postgres-checks.js';
import { systemClock } from '../../src/runtime/clock.js';
import { migratedDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { giveToOwnRole, rolePassword } from '../postgres/own-role.js';

/* What an administrator may have changed of the server, and what the operator then reads. */

let url: string;
let admin: ReturnType<typeof keptConnection>;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await migratedDatabase();
  const own = await giveToOwnRole(database.url, { objects: true });
  url = own.url;
  admin = keptConnection(database.url);
  drop = async () => {
    await database.drop();
    await own.dropRole(await postgresUrl());
  };
});

afterAll(() => drop());

async function checked(): Promise<{ readonly checks: ReadonlyMap<string, Check>; readonly usable: boolean }> {
  const password = { reveal: async () => rolePassword };
  const { checks, usable } = await postgresChecks({ kind: 'postgres', url, password }, systemClock);
  return { checks: new Map(checks.map((check) => [check.name, check])), usable };
}

/** `USER_` is the configured user. */
test.each<[string, change: string, undo: string, check: string, Omit<Check, 'name'>]>([
  [
    'transactions that are read-only',
    'ALTER ROLE USER_ SET default_transaction_read_only = on',
    'ALTER ROLE USER_ RESET default_transaction_read_only',
    'database.rights',
    {
      verdict: 'fail',
      message: 'the transactions of USER_ are read-only: default_transaction_read_only is on',
      mend: 'ALTER ROLE USER_ SET default_transaction_read_only = off',
    },
  ],
  [
    'a table of another owner',
    'ALTER TABLE history_rows OWNER TO CURRENT_USER',
    'ALTER TABLE history_rows OWNER TO USER_',
    'database.rights',
    {
      verdict: 'fail',
      message: 'USER_ may not write history_rows',
      mend: 'ALTER TABLE … OWNER TO USER_',
    },
  ],
  [
    'rights that the login lost on its own tables, views and schemas',
    'REVOKE INSERT, DELETE ON sources, rosterd_identity.identity_rows FROM USER_; REVOKE SELECT ON investments, leases FROM USER_; REVOKE USAGE ON SCHEMA rosterd_identity FROM USER_',
    'GRANT ALL ON sources, rosterd_identity.identity_rows, investments, leases TO USER_; GRANT USAGE ON SCHEMA rosterd_identity TO USER_',
    'database.rights',
    {
      verdict: 'fail',
      message:
        'USER_ lacks USAGE on SCHEMA rosterd_identity; SELECT on investments, leases; INSERT, DELETE on rosterd_identity.identity_rows, sources',
      mend: 'GRANT USAGE ON SCHEMA rosterd_identity TO USER_; GRANT SELECT ON investments, leases TO USER_; GRANT INSERT, DELETE ON rosterd_identity.identity_rows, sources TO USER_',
    },
  ],
  [
    'a schema in which the user may create nothing',
    'REVOKE CREATE ON SCHEMA public FROM pg_database_owner, PUBLIC',
    'GRANT CREATE ON SCHEMA public TO pg_database_owner',
    'database.rights',
    {
      verdict: 'fail',
      message: 'USER_ may not create tables in public, or not the schema for identity',
      mend: 'GRANT CREATE ON SCHEMA public TO USER_; GRANT CREATE ON DATABASE … TO USER_',
    },
  ],
  [
    'a limit that leaves one connection',
    'ALTER ROLE USER_ CONNECTION LIMIT 2',
    'ALTER ROLE USER_ CONNECTION LIMIT -1',
    'database.connections',
    {
      verdict: 'warn',
      message: '1 free connection; a daemon opens up to 15',
      mend: expect.stringContaining('raise max_connections'),
    },
  ],
  [
    'commits that are not durable',
    'ALTER ROLE USER_ SET synchronous_commit = off',
    'ALTER ROLE USER_ RESET synchronous_commit',
    'database.durability',
    {
      verdict: 'warn',
      message: expect.stringContaining('synchronous_commit = off'),
      mend: expect.stringMatching(/^ALTER SYSTEM SET/),
    },
  ],
  [
    'a copy of the write-ahead log',
    "SELECT pg_create_physical_replication_slot('slot_of_' || current_database())",
    "SELECT pg_drop_replication_slot('slot_of_' || current_database())",
    'database.log',
    {
      verdict: 'pass',
      message: expect.stringMatching(/goes to \d+ replication slots?/),
      mend: null,
    },
  ],
  [
    'leases that may not be read',
    'REVOKE SELECT ON leases FROM USER_',
    'GRANT SELECT ON leases TO USER_',
    'database.holders',
    {
      verdict: 'fail',
      message: expect.stringContaining('permission denied for table leases (42501)'),
      mend: expect.stringContaining('login that owns the schema'),
    },
  ],
  [
    'a process that writes',
    "INSERT INTO sources (no, name, fingerprint) VALUES (1, 'acme', 'f'); INSERT INTO leases (source_no, schema, holder, fence, expires_at) VALUES (1, 1, 'elsewhere:1:1', 1, '9999-01-01T00:00:00.000Z')",
    'DELETE FROM leases; DELETE FROM sources',
    'database.holders',
    { verdict: 'pass', message: 'held by elsewhere:1:1', mend: null },
  ],
  [
    'a migration with another text',
    "UPDATE migrations SET checksum = 'x' || checksum WHERE number = 1",
    'UPDATE migrations SET checksum = substr(checksum, 2) WHERE number = 1',
    'database.schema',
    {
      verdict: 'fail',
      message: expect.stringMatching(/migration 1 \(\w+\) is dirty/),
      mend: expect.any(String),
    },
  ],
  [
    'a database without a mirror',
    'ALTER TABLE migrations RENAME TO others',
    'ALTER TABLE others RENAME TO migrations',
    'database.schema',
    {
      verdict: 'warn',
      message: 'public holds no mirror yet; the first start makes it',
      mend: 'rosterd sync',
    },
  ],
])('doctor names %s, and passes the server itself', async (_, change, undo, name, expected) => {
  const named = (text: string) => text.replaceAll('USER_', new URL(url).username);
  await admin(named(change));
  // Those of the check before end a moment after they are closed, and a limit of connections counts them.
  await expect.poll(() => admin(named("SELECT 1 FROM pg_stat_activity WHERE usename = 'USER_'"))).toEqual([]);
  const { checks } = await checked();
  await admin(named(undo));
  expect(checks.get('database.server')?.verdict).toBe('pass');
  const found = JSON.parse(JSON.stringify(checks.get(name)).replaceAll(new URL(url).username, 'USER_'));
  expect(found).toEqual({ name, ...expected });
});
