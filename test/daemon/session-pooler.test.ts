import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { openReader } from '../../src/store/reads/open-reader.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { sessionPooler } from '../postgres/session-pooler.js';
import { freshFolder } from './daemon-fixture.js';

test('a daemon and its readers connect through a pooler in session mode, which refuses settings of a new connection', async () => {
  const url = await sessionPooler((await migratedDatabase()).url);
  const place = { kind: 'postgres', url, password: null } as const;
  const mirror = await openMirror(place, {
    ...{ clock: systemClock, logger: silentLogger, identity: 'keep' },
    ledger: new ForgottenLedger(join(freshFolder(), 'forget.ledger')),
  });
  onTestFinished(() => mirror.close());
  expect(await mirror.inbox.counts()).toMatchObject({ pending: 0 });
  await mirror.server?.ask();
  const reader = await openReader(place);
  onTestFinished(() => reader.close());
  const reading = await openPostgres(url, { readonly: true, max: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => reading.close());
  expect((await reading.pool.query(settings)).rows).toEqual([{ timeout: '1min', reads: 'on' }]);
});

test('without such a pooler the settings come with the connection, so that no pooler can leave them to others', async () => {
  const { url } = await migratedDatabase();
  const reading = await openPostgres(url, { readonly: true, max: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => reading.close());
  await reading.pool.query('RESET ALL');
  expect((await reading.pool.query(settings)).rows).toEqual([{ timeout: '1min', reads: 'on' }]);
});

const settings = `SELECT current_setting('statement_timeout') AS timeout, current_setting('transaction_read_only') AS reads`;

test('a pooler that refuses the options of the address is named, and so is where to put them', async () => {
  const url = await sessionPooler((await migratedDatabase()).url);
  await expect(openPostgres(`${url}?options=-csearch_path%3Dteam`)).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('refuses the parameter options of a connection (08P01)') as unknown,
    about: { hint: expect.stringContaining('ALTER ROLE … SET search_path') as unknown },
  });
});
