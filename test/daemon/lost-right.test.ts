import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { migratedDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { giveToOwnRole, rolePassword } from '../postgres/own-role.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const patient = { interval: 25 };

/** A daemon on a database whose login is no superuser, which no right could be taken from. */
async function startWithOwnRole() {
  const [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 1, records: 10, limits: false }),
    migratedDatabase(),
  ]);
  const own = await giveToOwnRole(database.url, { objects: true });
  onTestFinished(async () => {
    await database.drop();
    await own.dropRole(await postgresUrl());
  });
  const folder = freshFolder();
  const url = new URL(own.url);
  url.password = encodeURIComponent(rolePassword);
  const config = configFor(sandbox, { folder, database: url.href });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  await daemon.engine.sync.idle();
  return { sandbox, daemon, role: url.username, admin: keptConnection(database.url) };
}

test('a source whose login lost a right on a table is retried, and follows again once the right is given back', async () => {
  const { sandbox, daemon, role, admin } = await startWithOwnRole();
  const { sync, health } = daemon.engine;
  const ended: string[] = [];
  sync.onTick(
    (_, { report, phase }) => void ended.push(`${phase?.kind} ${report.outcome} ${report.message}`),
  );
  await admin(`REVOKE INSERT ON investment_rows, rosterd_identity.identity_rows FROM ${role}`);
  await control(sandbox, 'POST', '/investments', { company: sandbox.ready.companies[0]?.id, count: 1 });
  sync.nudge('c0' as never);

  // No person acts in between.
  await expect.poll(() => ended.length, patient).toBeGreaterThan(1);
  expect(new Set(ended.map((one) => one.replace(/postgres:\S+/, 'URL')))).toEqual(
    new Set([
      `following failed URL does not let this login use its own mirror: it lacks INSERT on investment_rows, rosterd_identity.identity_rows (42501) (As this login or an administrator: GRANT INSERT ON investment_rows, rosterd_identity.identity_rows TO ${role}. A daemon then goes on by itself.)`,
    ]),
  );
  expect(health.list()).toMatchObject([
    { key: 'tick.c0', severity: 'ill', text: expect.stringContaining(`GRANT INSERT ON`) },
  ]);

  await admin(`GRANT INSERT ON investment_rows, rosterd_identity.identity_rows TO ${role}`);
  await expect.poll(() => ended.at(-1), patient).toBe('following done null');
  await expect.poll(() => health.list(), patient).toEqual([]);
});
