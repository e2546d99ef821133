import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import type { RestoreHooks } from '../../../../src/store/backup/made.js';
import { backUpPostgres } from '../../../../src/store/dialect/postgres/backup.js';
import { restorePostgres } from '../../../../src/store/dialect/postgres/restore.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { tempFolder } from '../../temp-folder.js';

const { signal } = new AbortController();
const parts = { clock: systemClock, env: { PATH: '/nowhere' }, version: '0.1.0', signal };
const hooks: RestoreHooks = { prepare: async () => {}, remember: () => [] };

/** An empty mirror, `filled` by a statement, with a backup of it, and a function that restores it there. */
async function restorable(own: Partial<RestoreHooks> = {}, filled = '') {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  await withClient(url, (client) => client.query(filled));
  const place = { kind: 'postgres', url, password: null } as const;
  const file = join(tempFolder(), 'mirror.backup');
  await backUpPostgres(place, file, parts);
  const request = { ...parts, force: true, identity: 'keep', leaseMs: 30_000, lockMs: 50 } as const;
  return { url, restore: () => restorePostgres(file, place, request, { ...hooks, ...own }) };
}

test('restore names the session whose transaction has a lock on the mirror, and replaces nothing', async () => {
  const { url, restore } = await restorable();
  const address = new URL(url);
  address.searchParams.set('application_name', 'notebook');
  await withClient(address.href, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid, session_user AS login');
    const { pid, login } = rows[0] as { pid: number; login: string };
    await client.query('BEGIN; SELECT count(*) FROM investments');
    await expect(restore()).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringMatching(new RegExp(` is in use by notebook of ${login} \\(process ${pid}\\)$`)),
      about: { hint: expect.stringMatching(`Nothing was replaced.*pg_terminate_backend\\(${pid}\\)`) },
    });
    await client.query('ROLLBACK');
  });
  expect(await restore()).toMatchObject({ format: 'copy' });
});

test('restore that is interrupted by the server does not say that work goes on by itself', async () => {
  const { url, restore } = await restorable({
    remember: () => {
      throw Object.assign(new Error('terminating connection'), { code: '57P01' });
    },
  });
  await expect(restore()).rejects.toMatchObject({
    code: 'database_busy',
    message: `${new URL(url).href.replace(/:[^:@]*@/, '@')} ended the session: it is being shut down, or an administrator ended it (57P01)`,
    about: { hint: expect.stringMatching('^Nothing was replaced.*Run this again.$') },
  });
});

test('restore that fails after its commit says that only erasures are left, and no request of an operator came back', async () => {
  const request = "INSERT INTO operator_requests VALUES ('acme', 'accept_deletions', '', '', '', 7)";
  const failing = async () => {
    throw new Fault('database_busy', 'the server did not grant a lock');
  };
  const { url, restore } = await restorable({ prepare: failing }, request);
  await expect(restore()).rejects.toMatchObject({
    code: 'database_busy',
    message: 'the backup is restored, but the server did not grant a lock',
    about: { hint: expect.stringContaining('Start rosterd') },
  });
  await withClient(url, async (client) => {
    expect((await client.query('SELECT * FROM operator_requests')).rows).toEqual([]);
  });
});
