import { afterAll, beforeAll, expect, test } from 'vitest';
import { PostgresFleet } from '../../../../src/store/dialect/postgres/fleet.js';
import { withNamedRights } from '../../../../src/store/dialect/postgres/missing-rights.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { openPostgresReader } from '../../../../src/store/dialect/postgres/reader.js';
import { postgresSnapshot } from '../../../../src/store/dialect/postgres/snapshot.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { newestChange } from '../../../../src/store/reads/changes.js';
import { migratedDatabase, postgresUrl } from '../../../postgres/fresh-database.js';
import { keptConnection } from '../../../postgres/kept-connection.js';
import { giveToOwnRole, rolePassword } from '../../../postgres/own-role.js';

/* What an error says about a right that the login of the mirror lost. */

let url: string;
let login: string;
let admin: ReturnType<typeof keptConnection>;
let database: PostgresDatabase;
let drop: () => Promise<void>;

beforeAll(async () => {
  const fresh = await migratedDatabase();
  const own = await giveToOwnRole(fresh.url, { objects: true });
  admin = keptConnection(fresh.url);
  const address = new URL(own.url);
  address.password = encodeURIComponent(rolePassword);
  url = address.href;
  login = address.username;
  database = await openPostgres(url);
  drop = async () => {
    await database.close();
    await fresh.drop();
    await own.dropRole(await postgresUrl());
  };
});

afterAll(() => drop());

test.each([
  [
    'a table',
    'REVOKE INSERT, UPDATE ON leases FROM LOGIN',
    'GRANT INSERT, UPDATE ON leases TO LOGIN',
    'DELETE FROM pauses; UPDATE leases SET fence = 1',
    'lacks INSERT, UPDATE on leases (42501)',
    'GRANT INSERT, UPDATE ON leases TO LOGIN.',
  ],
  [
    'a table with names, which has a view of its name',
    'REVOKE DELETE ON rosterd_identity.identity_rows FROM LOGIN',
    'GRANT DELETE ON rosterd_identity.identity_rows TO LOGIN',
    'DELETE FROM identity_rows',
    'lacks DELETE on rosterd_identity.identity_rows (42501)',
    'GRANT DELETE ON rosterd_identity.identity_rows TO LOGIN.',
  ],
  [
    'a schema, where the server says that there is no such table',
    'REVOKE USAGE ON SCHEMA public FROM pg_database_owner, PUBLIC',
    'GRANT USAGE ON SCHEMA public TO pg_database_owner, PUBLIC',
    'DELETE FROM leases',
    'lacks USAGE on SCHEMA public (42P01)',
    'GRANT USAGE ON SCHEMA public TO LOGIN.',
  ],
  [
    'a table that another login owns now',
    'ALTER TABLE leases OWNER TO CURRENT_USER',
    'ALTER TABLE leases OWNER TO LOGIN',
    'DELETE FROM leases',
    'lacks SELECT, INSERT, UPDATE, DELETE on leases (42501)',
    'ALTER TABLE leases OWNER TO LOGIN.',
  ],
])(
  'PostgreSQL: a login that lost its right on %s reads which one, and the statement that gives it back',
  async (_, take, give, work, lacks, statement) => {
    await admin(take.replaceAll('LOGIN', login));
    const failed = await inTransaction(database, (transaction) => transaction.run(work)).catch(
      (error: unknown) => error,
    );
    await admin(give.replaceAll('LOGIN', login));
    expect(failed).toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining(`does not let this login use its own mirror: it ${lacks}`) as unknown,
      about: { hint: expect.stringContaining(statement.replace('LOGIN', login)) as unknown },
    });
    expect(failed).not.toMatchObject({ message: expect.stringContaining(rolePassword) as unknown });
    await inTransaction(database, (transaction) => transaction.run('DELETE FROM leases'));
  },
);

test('PostgreSQL: a login that lost its rights on all tables reads some of them, and the command that lists what to grant', async () => {
  const all = 'ALL ON ALL TABLES IN SCHEMA public, rosterd_identity';
  await admin(`REVOKE ${all} FROM ${login}`);
  const failed = await inTransaction(database, (transaction) => transaction.run('DELETE FROM leases')).catch(
    (error: unknown) => error,
  );
  await admin(`GRANT ${all} TO ${login}`);
  expect(failed).toMatchObject({
    message: expect.stringMatching(
      /lacks rights on (?:[\w.]+, ){7}[\w.]+ and \d\d more \(42501\)$/,
    ) as unknown,
    about: { hint: expect.stringContaining('run the statements that `rosterd doctor` lists') as unknown },
  });
});

test('PostgreSQL: a command that reads names the right that the login lost, too', async () => {
  await admin(`REVOKE SELECT ON tick_rows FROM ${login}`);
  const failed = postgresSnapshot(url, (ask) => ask`SELECT 1 FROM tick_rows`);
  await expect(failed).rejects.toMatchObject({
    code: 'database_unusable',
    about: { hint: expect.stringContaining(`GRANT SELECT ON tick_rows TO ${login}.`) as unknown },
  });
  await admin(`GRANT SELECT ON tick_rows TO ${login}`);
});

test('PostgreSQL: a policy that hides rows from their owner fails what would miss them, for writers and readers', async () => {
  await admin('ALTER TABLE leases ENABLE ROW LEVEL SECURITY; ALTER TABLE leases FORCE ROW LEVEL SECURITY');
  const work = [
    inTransaction(database, (transaction) => transaction.run('DELETE FROM leases')),
    withNamedRights(database, () => database.pool.query('DELETE FROM leases')),
    postgresSnapshot(url, (ask) => ask`SELECT 1 FROM leases`),
  ];
  const failed = await Promise.all(
    work.map((one) => (one as Promise<unknown>).catch((error: unknown) => error)),
  );
  await admin(
    'ALTER TABLE leases NO FORCE ROW LEVEL SECURITY; ALTER TABLE leases DISABLE ROW LEVEL SECURITY',
  );
  for (const one of failed)
    expect(one).toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('hides rows of leases from the login that owns them') as unknown,
      about: { hint: expect.stringContaining('ALTER TABLE leases NO FORCE ROW LEVEL SECURITY') as unknown },
    });
  await inTransaction(database, (transaction) => transaction.run('DELETE FROM leases'));
});

test.each([
  ['that reads the present state', {}],
  ['of one state, such as that of an export', { oneState: true }],
])('PostgreSQL: a reader %s names the right that its login lost', async (_, options) => {
  await admin(`REVOKE SELECT ON change_rows FROM ${login}`);
  const reader = await openPostgresReader(url, options);
  const fault = await newestChange(reader.db).catch((error: unknown) => reader.faultOf(error));
  await reader.close();
  await admin(`GRANT SELECT ON change_rows TO ${login}`);
  expect(fault).toMatchObject({
    code: 'database_unusable',
    about: { hint: expect.stringContaining(`GRANT SELECT ON change_rows TO ${login}.`) as unknown },
  });
});

test('PostgreSQL: a login that may not connect any more reads the statement that lets it', async () => {
  const name = new URL(url).pathname.slice(1);
  await admin(`REVOKE CONNECT ON DATABASE "${name}" FROM PUBLIC, ${login}`);
  const failed = await openPostgres(url).catch((error: unknown) => error);
  await admin(`GRANT CONNECT ON DATABASE "${name}" TO PUBLIC, ${login}`);
  expect(failed).toMatchObject({
    code: 'database_unusable',
    message: expect.stringContaining('does not let this user connect (42501)') as unknown,
    about: { hint: expect.stringContaining(`GRANT CONNECT ON DATABASE ${name} TO ${login}.`) as unknown },
  });
});

test('PostgreSQL: a member of a fleet names the right that its login lost, too', async () => {
  const ears = { onMessage: () => {}, onGap: () => {} };
  const fleet = new PostgresFleet('host:1:2', { server: url, database, version: '0.0.0-test' }, ears);
  await admin(`REVOKE UPDATE ON fleet_members FROM ${login}`);
  await expect(fleet.join([])).rejects.toMatchObject({
    code: 'database_unusable',
    about: { hint: expect.stringContaining(`GRANT UPDATE ON fleet_members TO ${login}.`) as unknown },
  });
  await admin(`GRANT UPDATE ON fleet_members TO ${login}`);
  await fleet.join([]);
  await fleet.close();
});

test('PostgreSQL: a table that does not exist is no right that is missing', async () => {
  await expect(
    inTransaction(database, (transaction) => transaction.run('DELETE FROM nowhere')),
  ).rejects.toMatchObject({
    code: 'database_unusable',
    message: expect.stringContaining('lacks the table or view nowhere that this version reads') as unknown,
  });
});
