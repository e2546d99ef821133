import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Cursor } from '../../src/domain/position.js';
import type { FullStatus } from '../../src/reading/status.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { Interrupter, type Interruption } from '../../src/runtime/interruption.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import type { Scrubber } from '../../src/store/scrub-messages.js';
import type { SourceIdentity } from '../../src/sync/ports.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { cautious } from '../store/mirror-fixture.js';
import { acme, listingPage, record } from '../store/samples.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

test('a mirror in a file says that ticks wait while it is rewritten, and since when', async () => {
  const folder = freshFolder();
  let waits: unknown;
  const scrub: Scrubber = async ({ way }) => {
    if (way === 'in place') return null;
    waits = mirror.waits();
    return { kind: 'clean' };
  };
  const mirror = await mirrorIn(folder, { scrub });
  const before = new Date().toISOString();
  await mirror.upkeep.scrub(0, new AbortController().signal);
  expect(waits).toEqual([
    {
      key: 'rewrite',
      text: expect.stringContaining('is being rewritten'),
      since: expect.toSatisfy((since: string) => since >= before),
    },
  ]);
  expect(mirror.waits()).toEqual([]);
});

test('writers of a daemon wait for a commit of totals without blocking it', async () => {
  const folder = freshFolder();
  const mirror = await mirrorIn(folder);
  await (await listingIn(mirror, acme, 'inv_1'))();
  const other = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => other.close());
  // A number beyond which a child process writes the totals.
  other.raw.exec('UPDATE investment_rows SET row_no = 1000000');
  const publish = await listingIn(mirror, { name: 'kiwi', fingerprint: 'f2' } as SourceIdentity, 'inv_2');
  other.raw.exec('BEGIN IMMEDIATE');
  const publishing = publish();
  await vi.waitFor(() => expect(mirror.waits()).toMatchObject([{ key: 'totals' }]), { timeout: 60_000 });
  const writing = mirror.upkeep.purgeBudgets('2026-01-01T00:00:00.000Z' as Instant);
  // It would have failed with the lock of the other connection.
  other.raw.exec('COMMIT');
  await Promise.all([publishing, writing]);
  expect(mirror.waits()).toEqual([]);
});

test('the pages of the console read the mirror while another program has the lock', async () => {
  const folder = freshFolder();
  const mirror = await mirrorIn(folder);
  const other = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => other.close());
  other.raw.exec('BEGIN IMMEDIATE');
  const ended: string[] = [];
  const writing = mirror.upkeep.purgeBudgets('2026-01-01T00:00:00.000Z' as Instant).catch(() => {
    ended.push('a write');
  });
  await vi.waitFor(() => expect(mirror.waits()).toMatchObject([{ key: 'lock' }]));
  expect(await mirror.outbox.undelivered(1)).toEqual([]);
  expect(await mirror.alerts.undelivered(1)).toEqual([]);
  expect(await mirror.audit.latest(null, 1)).toEqual([]);
  expect(await mirror.requests.list()).toEqual([]);
  ended.push('the reads');
  await writing;
  expect(ended).toEqual(['the reads', 'a write']);
});

test('while another program has the lock, the build of an index opens the gate again and again', async () => {
  const folder = freshFolder();
  const waited: number[] = [];
  let other: SqliteDatabase | null = null;
  const clock = {
    ...systemClock,
    wait: async (millis: number) => {
      waited.push(millis);
      expect(mirror.waits()).toEqual([]);
      if (waited.length === 3) other?.raw.exec('COMMIT');
    },
  };
  const mirror = await mirrorIn(folder, { clock });
  const publish = await listingIn(mirror, acme, 'inv_1');
  other = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => other?.close());
  const indexes = () =>
    other?.raw
      .prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'investment_rows_%'")
      .pluck()
      .get();
  other.raw.exec('UPDATE investment_rows SET row_no = 1000000');
  expect(indexes()).toBe(0);
  other.raw.exec('BEGIN IMMEDIATE');
  await publish();
  expect(waited.slice(0, 3)).toEqual([500, 500, 500]);
  expect(indexes()).toBeGreaterThan(3);
});

test('a stop ends the build of an index that waits for the lock of another program', async () => {
  const folder = freshFolder();
  const stopping = new Interrupter();
  const clock = {
    ...systemClock,
    wait: async () => stopping.abort(),
  };
  const mirror = await mirrorIn(folder, { clock });
  const publish = await listingIn(mirror, acme, 'inv_1', stopping);
  const other = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => other.close());
  other.raw.exec('UPDATE investment_rows SET row_no = 1000000; BEGIN IMMEDIATE');
  await expect(publish()).rejects.toMatchObject({ code: 'stopped' });
});

test('a stop of a daemon begins with less patience for the lock of another program', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10 });
  const daemon = await startDaemon(partsFor(configFor(sandbox, { folder: freshFolder() })));
  onTestFinished(() => daemon.close());
  let open: readonly string[] = [];
  const hurry = () => {
    open = daemon.open;
  };
  const parts = daemon.open;
  Object.assign(daemon.engine.mirror, { hurry });
  await daemon.close();
  expect(open).toEqual(parts);
});

test('status, its page and the dashboard of a daemon say what ticks wait for', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10 });
  const folder = freshFolder();
  const config = configFor(sandbox, { folder });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  const get = async (path: string) => (await fetch(`${daemon.consoleUrl}${path}`)).text();
  const status = async (...flags: string[]) => {
    const words = ['status', '--database', `sqlite:${join(folder, 'mirror.db')}`, ...flags];
    return (await rosterd(words, fakeIo({ cwd: folder, env: {}, clock: systemClock }))).out;
  };
  expect((JSON.parse(await status('--json')) as FullStatus).waits).toEqual([]);

  const since = new Date(Date.now() - 5 * 60_000).toISOString();
  const waits = [{ key: 'rewrite', text: 'the file is being rewritten, and ticks wait', since }];
  Object.assign(daemon.engine.mirror, { waits: () => waits });
  for (const text of [await status('--json'), await get('/status.json')])
    expect(JSON.parse(text)).toMatchObject({ waits });
  expect(await status()).toMatch(/^the file is being rewritten, and ticks wait \(since .+ ago\)$/m);
  for (const path of ['/', '/operations'])
    expect(await get(path)).toContain('the file is being rewritten, and ticks wait. <span');
});

/** Lists one record, and returns what publishes it. */
async function listingIn({ mirror }: OpenMirror, source: SourceIdentity, id: string, signal?: Interruption) {
  const { lease } = await mirror.open(source, 'tester');
  const start = { kind: 'first', fingerprint: source.fingerprint, restarts: 0, notBefore: null } as const;
  await mirror.beginListing(lease, start);
  await mirror.addListingPage(lease, listingPage([record(id, {}, null)], 'end'));
  return () => mirror.publishListing(lease, 'end' as Cursor, cautious, signal);
}

async function mirrorIn(
  folder: string,
  more: { readonly scrub?: Scrubber; readonly clock?: Clock } = {},
): Promise<OpenMirror> {
  const ledger = new ForgottenLedger(join(folder, 'forget.ledger'));
  const location = { kind: 'sqlite', file: join(folder, 'mirror.db') } as const;
  const parts = { clock: systemClock, logger: silentLogger, identity: 'keep', ledger, ...more } as const;
  const mirror = await openMirror(location, parts);
  onTestFinished(() => mirror.close());
  return mirror;
}
