import type Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { sqliteFileOf } from '../../src/config/database.js';
import { Secret } from '../../src/config/secrets.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { SourceHolds } from '../../src/daemon/source-holds.js';
import type { SourceName } from '../../src/domain/ids.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { openRaw } from '../support/open-raw.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const token = 'the-token-of-oleg-1234';

interface Running {
  readonly config: Config;
  readonly daemon: Daemon;
  readonly raw: Sqlite.Database;
  readonly act: (action: string, fields: string) => Promise<{ done: boolean; message: string }>;
  readonly log: () => unknown[];
}

/** A daemon over a sandbox whose sources are listed, with an operator. */
async function running(more: Partial<Config> = {}, clock: Clock = systemClock): Promise<Running> {
  const sandbox = await sandboxFor({ records: 60, companies: 1 });
  const folder = freshFolder();
  const plain = configFor(sandbox, { folder });
  if (plain.console === null) throw new Error('the console is on');
  const secret = new Secret('console.auth.tokens[0].token', token, { env: {}, folder });
  const tokens = [{ name: 'oleg', role: 'operator' as const, token: secret }];
  const config = {
    ...plain,
    ...more,
    console: { ...plain.console, auth: { tokens, basic: null, proxy: null } },
  };
  const daemon = await startDaemon({ ...partsFor(config), clock });
  onTestFinished(() => daemon.close());
  await daemon.engine.sync.idle();
  const raw = openRaw(sqliteFileOf(config.database));
  onTestFinished(() => void raw.close());
  return {
    config,
    daemon,
    raw,
    act: async (action, body) => {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/x-www-form-urlencoded',
      };
      const answer = await fetch(`${daemon.consoleUrl}/actions/${action}`, { method: 'POST', headers, body });
      return (await answer.json()) as { done: boolean; message: string };
    },
    log: () => raw.prepare('SELECT actor, action, outcome, note FROM audit_log ORDER BY entry').all(),
  };
}

test('the daemon performs what an operator asks for, and logs what became of it', async () => {
  const { raw, act, log, daemon } = await running();
  const { mirror, sync } = daemon.engine;
  const { tick } = sync;
  const waiting: unknown[] = [];
  vi.spyOn(sync, 'tick').mockImplementation(async (...asked) => {
    waiting.push(...(await mirror.requests.list()).map(({ kind }) => kind));
    return await tick(...asked);
  });
  const count = () => raw.prepare('SELECT count(*) FROM investments').pluck().get() as number;
  const before = count();
  raw.exec(
    `INSERT INTO awaiting_deletion_rows SELECT row_no, source_no, 1, '2026-11-01T00:00:00.000Z' FROM investment_rows LIMIT 1;
     UPDATE sources SET awaiting_deletion = 1, quarantined = 1;
     INSERT INTO quarantine_rows (source_no, id, problem, body, seen_at, times)
       SELECT source_no, id, 'status is missing', '{}', '2026-11-01T00:00:00.000Z', 1 FROM investment_rows ORDER BY row_no DESC LIMIT 1;`,
  );
  expect(await act('accept-deletions', 'source=c0&rows=1')).toMatchObject({ done: true });
  await expect.poll(count).toBe(before - 1);

  expect(await act('retry-quarantine', 'source=c0')).toMatchObject({ done: true });
  const open = () => raw.prepare('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL').pluck().get();
  await expect.poll(open).toBe(0);

  expect(await act('resync', 'source=c0')).toMatchObject({ done: true });
  await expect.poll(count).toBe(before);
  await expect.poll(() => log().length).toBe(6);
  expect(log()).toEqual([
    { actor: 'token:oleg', action: 'accept_deletions', outcome: 'asked', note: null },
    expect.objectContaining({
      action: 'accept_deletions',
      outcome: 'done',
      note: expect.stringContaining('1 removed'),
    }),
    { actor: 'token:oleg', action: 'retry_quarantine', outcome: 'asked', note: null },
    {
      actor: 'token:oleg',
      action: 'retry_quarantine',
      outcome: 'done',
      note: '1 record read again, 0 still in quarantine',
    },
    { actor: 'token:oleg', action: 'resync', outcome: 'asked', note: null },
    expect.objectContaining({ action: 'resync', outcome: 'done', note: expect.stringContaining('1 added') }),
  ]);
  // A crash in between loses no request.
  expect(waiting).toEqual(['accept_deletions', 'retry_quarantine', 'resync']);
  expect(await mirror.requests.list()).toEqual([]);
});

test('records that are read again from quarantine and changed start the after-sync hooks', async () => {
  // A hook that nothing wakes looks every minute.
  const wait: Clock['wait'] = (millis, signal) =>
    systemClock.wait(millis === 60_000 ? 3_600_000 : millis, signal);
  const hook = { kind: 'command', name: 'dbt', command: ['cat'], sources: null } as const;
  const { raw, act } = await running(
    { afterSync: [{ ...hook, delayMillis: 0, timeoutMillis: 60_000 }] },
    { ...systemClock, wait },
  );
  const ran = () =>
    Number(raw.prepare("SELECT done_seq FROM after_sync_rows WHERE hook = 'dbt'").pluck().get());
  const reread = () =>
    Number(
      raw.prepare("SELECT max(seq) FROM changes WHERE kind = 'changed' AND source = 'c0'").pluck().get(),
    );
  raw.exec(
    `UPDATE investment_rows SET group_label = 'as before' WHERE row_no = (SELECT min(row_no) FROM investment_rows);
     UPDATE sources SET quarantined = 1;
     INSERT INTO quarantine_rows (source_no, id, problem, body, seen_at, times)
       SELECT source_no, id, 'status is missing', '{}', '2026-11-01T00:00:00.000Z', 1 FROM investment_rows ORDER BY row_no LIMIT 1;`,
  );
  const before = reread();
  expect(await act('retry-quarantine', 'source=c0')).toMatchObject({ done: true });
  await expect.poll(reread).toBeGreaterThan(before);
  await expect.poll(ran).toBeGreaterThanOrEqual(reread());
});

test('a request for a source that is paused before it begins waits for the resume', async () => {
  const { raw, act, daemon } = await running();
  const { requests, pauses } = daemon.engine.mirror;
  const tick = vi.spyOn(daemon.engine.sync, 'tick');
  expect(await act('pause', 'source=c0')).toMatchObject({ done: true });
  expect(await act('resync', 'source=c0')).toMatchObject({ done: false, message: 'c0 is paused.' });
  const asked_at = new Date().toISOString() as never;
  await requests.add({
    source: 'c0',
    kind: 'resync',
    confirmed_rows: null,
    actor: 'token:oleg',
    role: 'operator',
    asked_at,
  });
  const ticks = () => raw.prepare("SELECT count(*) FROM ticks WHERE mode = 'relisting'").pluck().get();
  expect([(await requests.list()).length, (await pauses.list()).length, ticks()]).toEqual([1, 1, 0]);
  expect(await act('resume', 'source=c0')).toMatchObject({ done: true });
  await expect.poll(ticks).toBe(1);
  await expect.poll(() => requests.list()).toEqual([]);
  // As after a crash in the middle of the requested listing, which the next tick continues.
  raw.exec(
    `BEGIN;
     INSERT INTO listings (source_no, kind, generation, restarts, started_at)
       SELECT no, 'relist', generation + 1, 0, '9999-01-01T00:00:00.000Z' FROM sources;
     UPDATE sources SET state = 'relisting';
     INSERT INTO operator_requests VALUES ('c0', 'resync', 'token:oleg', 'operator', '${asked_at}', NULL);
     COMMIT`,
  );
  await expect.poll(ticks).toBe(2);
  expect(tick.mock.calls).toEqual([
    ['c0', { resync: true }],
    ['c0', { resync: false }],
  ]);
});

test('a confirmation of deletions ends without effect when another number of rows awaits deletion by then', async () => {
  const { raw, daemon, log } = await running();
  const count = () => raw.prepare('SELECT count(*) FROM investments').pluck().get() as number;
  const before = count();
  raw.exec(
    `INSERT INTO awaiting_deletion_rows SELECT row_no, source_no, 1, '2026-11-01T00:00:00.000Z' FROM investment_rows LIMIT 5;
     UPDATE sources SET awaiting_deletion = 5;`,
  );
  const asked_at = new Date().toISOString() as never;
  const asked = { source: 'c0', kind: 'accept_deletions', confirmed_rows: 3, asked_at } as const;
  await daemon.engine.mirror.requests.add({ ...asked, actor: 'token:oleg', role: 'operator' });
  await expect.poll(() => log().length).toBe(1);
  expect(log()).toEqual([
    expect.objectContaining({
      action: 'accept_deletions',
      outcome: 'failed',
      note: 'the number of rows awaiting deletion changed: nothing that was confirmed is deleted',
    }),
  ]);
  expect(count()).toBe(before);
});

test('a source held for two reasons goes on when the last one ends', async () => {
  const heard: string[] = [];
  const holds = new SourceHolds({
    pause: async (source) => void heard.push(`pause ${source}`),
    resume: (source) => void heard.push(`resume ${source}`),
  });
  const acme = 'acme' as SourceName;
  await holds.pause(acme);
  await holds.pause(acme);
  holds.resume(acme);
  expect(heard).toEqual(['pause acme', 'pause acme']);
  holds.resume(acme);
  expect(heard.at(-1)).toBe('resume acme');
});
