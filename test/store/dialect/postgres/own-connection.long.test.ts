import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OwnConnection } from '../../../../src/store/dialect/postgres/own-connection.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { wayTo } from '../../../postgres/way-to.js';
import { tempFolder } from '../../temp-folder.js';

test('a connection that stops responding is dropped after one failed query, and the next query uses a new one', async () => {
  const { url, swallow } = await wayTo((await freshDatabase()).url);
  const connected: string[] = [];
  const received: string[] = [];
  const connection = new OwnConnection({
    server: url,
    applicationName: 'rosterd-test',
    channel: 'told',
    onPayload: (payload) => received.push(payload),
    onConnected: () => connected.push('connected'),
  });
  onTestFinished(() => connection.close());
  await connection.rows("SELECT pg_notify('told', 'before')");
  // Of a statement that waits for a lock, no process of the server may stay behind.
  expect(await connection.rows('SHOW lock_timeout')).toEqual([{ lock_timeout: '4s' }]);
  swallow();
  // The driver times out after five seconds.
  await expect(connection.rows('SELECT 1 AS one')).rejects.toMatchObject({ code: 'database_busy' });
  await expect
    .poll(() =>
      connection.rows("SELECT pg_notify('told', 'after')").then(
        () => received,
        () => [],
      ),
    )
    .toContain('after');
  expect(connected).toEqual(['connected', 'connected']);
});

test('a connection whose certificate authority could not be read for a moment is made by the next query', async () => {
  const authority = join(tempFolder(), 'ca.pem');
  const url = new URL((await freshDatabase()).url);
  // The driver reads the file for each connection, also for one that does without TLS.
  url.searchParams.set('sslrootcert', authority);
  url.searchParams.set('sslmode', 'disable');
  const connection = new OwnConnection({
    server: url.href,
    applicationName: 'rosterd-test',
    channel: 'told',
    onPayload: () => {},
    onConnected: () => {},
  });
  onTestFinished(() => connection.close());
  await expect(connection.rows('SELECT 1 AS one')).rejects.toThrow();
  writeFileSync(authority, '');
  expect(await connection.rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a connection that stops responding can be closed', async () => {
  const { url, swallow } = await wayTo((await freshDatabase()).url);
  const connection = new OwnConnection({
    server: url,
    applicationName: 'rosterd-test',
    channel: 'told',
    onPayload: () => {},
    onConnected: () => {},
  });
  await connection.rows('SELECT 1 AS one');
  swallow();
  await connection.close();
  await expect(connection.rows('SELECT 1 AS one')).rejects.toThrow('the connection was closed');
});

test('concurrent queries on one connection all return, without a warning from the driver', async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => warnings.push(warning.message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const connection = new OwnConnection({
    server: (await freshDatabase()).url,
    applicationName: 'rosterd-test',
    channel: 'told',
    onPayload: () => {},
    onConnected: () => {},
  });
  onTestFinished(() => connection.close());
  const replies = [1, 2, 3, 4].map((number) => connection.rows('SELECT $1::int AS number', number));
  // A failing query does not affect the others.
  const failed = connection.rows('SELECT 1 / 0');
  await expect(failed).rejects.toThrow();
  expect(await Promise.all(replies)).toEqual([1, 2, 3, 4].map((number) => [{ number }]));
  expect(warnings).toEqual([]);
});
