import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { LoadedConfig } from '../../src/config/document.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { EngineParts } from '../../src/daemon/engine.js';
import { diagnose } from '../../src/doctor/doctor.js';
import { statusOf } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const unfollowed = 'not in the configuration: it is not synced';

test.each(['sqlite', 'postgres'] as const)(
  'a source that no configuration follows needs a person, and every surface says so (%s)',
  async (kind) => {
    const sandbox = await sandboxFor({ companies: 2, records: 10, limits: false });
    let database: FreshDatabase | null = null;
    if (kind === 'postgres') {
      database = await migratedDatabase();
      onTestFinished(() => database?.drop());
    }
    const both = configFor(sandbox, {
      folder: freshFolder(),
      ...(database === null ? {} : { database: database.url }),
    });
    const first = await startDaemon(partsFor(both));
    await first.engine.sync.idle();
    await first.close();
    const one = { ...both, sources: both.sources.filter(({ name }) => name === 'c0') };
    const daemon = await startDaemon(partsFor(one));
    onTestFinished(() => daemon.close());
    await daemon.engine.sync.idle();
    const get = async (path: string) => (await fetch(`${daemon.consoleUrl}${path}`)).text();

    const document = await statusOf(one.database, systemClock, one);
    const healths = (seen: typeof document) =>
      seen.sources.map(({ source, health, followed }) => [source, health, followed]);
    const expected = [
      ['c0', 'ok', true],
      ['c1', 'attention', false],
    ];
    expect([document.health, healths(document)]).toEqual(['attention', expected]);
    expect(healths(JSON.parse(await get('/status.json')))).toEqual(expected);
    expect(JSON.parse(await get('/healthz'))).toMatchObject({
      health: 'attention',
      reasons: [{ source: 'c1', health: 'attention' }],
    });
    const metrics = await get('/metrics');
    expect(metrics).toContain('rosterd_source_health{source="c1",state="ok"} 0\n');
    expect(metrics).toContain('rosterd_source_health{source="c1",state="attention"} 1\n');
    expect(metrics).toContain('rosterd_source_followed{source="c1"} 0\n');
    const cards = (await get('/operations')).split('<article').slice(1);
    expect(cards[0]).toContain('Up to date');
    expect(cards[1]).toContain('Needs a person');
    expect(cards[1]?.toLowerCase()).toContain(unfollowed);
    expect(cards[1]).not.toMatch(/Up to date|Following the feed/);
    const parts = { ...partsFor(one), nodeVersion: process.version };
    const loaded = { config: one, file: null, warnings: [] };
    const { checks } = await diagnose(
      async () => loaded as Pick<LoadedConfig, 'config' | 'file'> as LoadedConfig,
      parts,
      new AbortController().signal,
    );
    const check = checks.find(({ name }) => name === 'health.c1');
    expect(check).toMatchObject({ verdict: 'warn' });
    expect(JSON.stringify(check)).toContain(unfollowed);

    // With a configuration that names the source, it is healthy again.
    expect(healths(await statusOf(both.database, systemClock, both))).toEqual([
      ['c0', 'ok', true],
      ['c1', 'ok', true],
    ]);
    if (database === null) return;
    // In a fleet, another member may follow a source that this configuration does not name.
    const other = await startDaemon(partsFor({ ...both, sources: both.sources.slice(1) }));
    onTestFinished(() => other.close());
    expect(healths(await statusOf(one.database, systemClock, one))).toEqual([
      ['c0', 'ok', true],
      ['c1', 'ok', true],
    ]);
  },
);

test.each([
  ['a daemon', startDaemon],
  [
    'rosterd sync',
    async (parts: EngineParts) => {
      await syncOnce(parts, {}, new AbortController().signal, { onUnfollowed: () => {} });
      return { close: async () => {} };
    },
  ],
])(
  '%s without follow rules finishes the erasure of a source that an interrupted command left hidden',
  async (_, start) => {
    const sandbox = await sandboxFor({ companies: 2, records: 10, limits: false });
    const both = configFor(sandbox, { folder: freshFolder() });
    const first = await startDaemon(partsFor(both));
    await first.engine.sync.idle();
    await first.close();
    const { kind, file } = both.database as { kind: 'sqlite'; file: string };
    expect(kind).toBe('sqlite');
    const rows = (sql: string) => {
      const db = new Sqlite(file);
      try {
        return db.prepare(sql).pluck().all();
      } finally {
        db.close();
      }
    };
    rows("UPDATE sources SET erasing_since = '2026-11-01T00:00:00.000Z' WHERE name = 'c1' RETURNING name");
    const started = await start(
      partsFor({ ...both, sources: both.sources.filter(({ name }) => name === 'c0') }),
    );
    onTestFinished(() => started.close());
    await expect.poll(() => rows('SELECT name FROM sources')).toEqual(['c0']);
  },
);
