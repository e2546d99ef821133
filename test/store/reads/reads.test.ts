import type { KyselyPlugin } from 'kysely';
import { describe, expect } from 'vitest';
import type { Instant } from '../../../src/domain/instant.js';
import { publicRelations } from '../../../src/store/dictionary/relations.js';
import { investmentsAsOf } from '../../../src/store/reads/as-of.js';
import { changesSince, followChanges } from '../../../src/store/reads/changes.js';
import { investmentColumns, rosterColumns } from '../../../src/store/reads/columns.js';
import { historyOf } from '../../../src/store/reads/history.js';
import { healthOf } from '../../../src/store/reads/judge-source.js';
import { test } from '../both-databases.js';
import { freshStore, placeOf, readingOf, rowsOf, type Store } from '../mirror-fixture.js';
import { StandingClock, statusOf } from '../support/mirror.js';
import { seedHistory, seedInvestment, seedRow, seedSource } from '../support/seeds.js';

test('the reading code uses the columns of the views, in order', () => {
  const columns = (view: string) =>
    publicRelations.find(({ name }) => name === view)?.columns.map(({ name }) => name);
  expect(columns('investments')).toEqual(investmentColumns);
  expect(columns('roster')).toEqual(rosterColumns);
});

describe('as of a time', () => {
  const t = (hour: number) => `2026-10-05T${String(hour).padStart(2, '0')}:00:00.000Z` as Instant;
  const mirror = async () => {
    const store = await freshStore();
    await seedSource(store, 1, { listed_at: t(0) });
    await seedInvestment(store, 1, 'inv_kept');
    await seedInvestment(store, 1, 'inv_changed', { committed_cents: 3, valid_from: t(4), change_seq: 4 });
    const first = { valid_from: t(0), change_seq: 1, valid_to: t(2), ended_by: 'update', committed_cents: 1 };
    await seedHistory(store, 1, 'inv_changed', first);
    const second = {
      valid_from: t(2),
      change_seq: 2,
      valid_to: t(4),
      ended_by: 'update',
      committed_cents: 2,
    };
    await seedHistory(store, 1, 'inv_changed', second);
    const gone = { valid_from: t(0), change_seq: 1, valid_to: t(3), ended_by: 'tombstone' };
    await seedHistory(store, 1, 'inv_gone', gone);
    return store;
  };
  const at = async (time: Instant) =>
    await readingOf(await mirror())
      .selectFrom(investmentsAsOf(time, 'i'))
      .selectAll('i')
      .execute();
  const seen = async (hour: number) => {
    const rows = await at(t(hour));
    return Object.fromEntries(rows.map((row) => [row.id, row.committed_cents]));
  };

  test('as of a time, a version counts from valid_from inclusive to valid_to exclusive', async () => {
    expect(await seen(0)).toEqual({ inv_kept: 100_000, inv_changed: 1, inv_gone: 100_000 });
    expect(await seen(2)).toEqual({ inv_kept: 100_000, inv_changed: 2, inv_gone: 100_000 });
    expect(await seen(3)).toEqual({ inv_kept: 100_000, inv_changed: 2 });
    expect(await seen(4)).toEqual({ inv_kept: 100_000, inv_changed: 3 });
  });

  test('as of a time before the first listing there are no rows', async () => {
    expect(await at('2026-10-04T00:00:00.000Z' as Instant)).toEqual([]);
  });

  test('the history of an id comes newest first, and its current version has no valid_to', async () => {
    const versions = await historyOf(readingOf(await mirror()), 'inv_changed');
    expect(
      versions.map(({ committed_cents, valid_to, ended_by }) => [committed_cents, valid_to, ended_by]),
    ).toEqual([
      [3, null, null],
      [2, t(4), 'update'],
      [1, t(2), 'update'],
    ]);
    expect(await historyOf(readingOf(await mirror()), 'inv_gone')).toMatchObject([{ ended_by: 'tombstone' }]);
    expect(await historyOf(readingOf(await mirror()), 'inv_changed', 'source2')).toEqual([]);
  });
});

test('the versions of a record are read at one moment, also while one is superseded', async () => {
  const store = await freshStore();
  await seedSource(store, 1);
  const row = await seedInvestment(store, 1, 'inv_1', { committed_cents: 1 });
  const superseded = {
    ...{ valid_from: '2026-10-05T00:00:00.000Z', valid_to: '2026-10-06T00:00:00.000Z', change_seq: 1 },
    ...{ ended_by: 'update', committed_cents: 1 },
  };
  const commit = async () => {
    await rowsOf(
      store,
      'UPDATE investment_rows SET committed_cents = 2, change_seq = 7 WHERE row_no = ?',
      row,
    );
    await seedHistory(store, 1, 'inv_1', superseded);
  };
  let statements = 0;
  const during: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    // A commit after the first result of several would make the version missing or double.
    async transformResult({ result }) {
      statements += 1;
      if (statements === 1) await commit();
      return result;
    },
  };
  const db = readingOf(store);
  const cents = async () =>
    (await historyOf(db.withPlugin(during), 'inv_1')).map((one) => one.committed_cents);
  expect(await cents()).toEqual([1]);
  expect(statements).toBe(1);
  expect(await cents()).toEqual([2, 1]);
});

describe('the local feed', () => {
  const feed = async (count: number): Promise<Store> => {
    const store = await freshStore();
    await seedSource(store, 1);
    for (let seq = 1; seq <= count; seq++)
      await seedRow(store, 'change_rows', {
        seq,
        source_no: 1,
        id: `inv_${seq}`,
        kind: 'changed',
        fields: '["status"]',
        at: '2026-10-20T12:00:00.000Z',
      });
    return store;
  };

  test('the change feed is read after a given number, in batches', async () => {
    const db = readingOf(await feed(1_203));
    const first = await changesSince(db, { after: 2 });
    expect(first).toHaveLength(1_000);
    expect(first[0]).toMatchObject({ seq: 3, source: 'source1', fields: ['status'] });
    expect((await changesSince(db, { after: 1_002 })).map(({ seq }) => seq).at(-1)).toBe(1_203);
    expect(await changesSince(db, { after: 1_203 })).toEqual([]);
    expect(await changesSince(db, { after: 0, source: 'source2' })).toEqual([]);
  });

  test('following the feed yields stored changes, then new ones, and ends with its signal', async () => {
    const store = await feed(2);
    const stop = new AbortController();
    let seq = 2;
    const news = {
      next: async () => {
        seq += 1;
        await seedRow(store, 'change_rows', {
          seq,
          source_no: 1,
          id: 'inv_new',
          kind: 'added',
          at: '2026-10-20T12:00:01.000Z',
        });
      },
      lastAssigned: async () => seq,
    };
    const seen: (string | null)[] = [];
    for await (const { id } of followChanges(readingOf(store), { after: 1 }, news, stop.signal)) {
      seen.push(id);
      if (seen.length === 3) stop.abort();
    }
    expect(seen).toEqual(['inv_2', 'inv_new', 'inv_new']);
  });

  test('following the feed fails when its numbers go back, because reused numbers would be missed', async () => {
    const store = await feed(2);
    const followed = (known: number) =>
      (async () => {
        const stop = new AbortController();
        const news = { next: async () => stop.abort(), lastAssigned: async () => null };
        for await (const _ of followChanges(readingOf(store), { after: 2, known }, news, stop.signal));
      })();
    await followed(2);
    await expect(followed(5)).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('end with 2, and 5 was there before'),
      about: { hint: expect.stringContaining('--since 2') },
    });
  });
});

describe('the status document', () => {
  test('the status document contains position, age, pending counts and the last ticks', async () => {
    const clock = new StandingClock();
    const store = await freshStore();
    await seedSource(store, 1, {
      rows_held: 12,
      last_outcome: 'done',
      last_tick_at: '2026-10-20T11:59:00.000Z',
    });
    const tick = {
      source_no: 1,
      trigger: 'timer',
      mode: 'delta',
      started_at: '2026-10-20T11:00:00.000Z',
      took_ms: 5,
    };
    const counts = { pages: 1, added: 0, changed: 1, removed: 0, quarantined: 0 };
    for (let n = 0; n < 7; n++) await seedRow(store, 'tick_rows', { ...tick, ...counts, outcome: 'done' });
    await seedRow(store, 'quarantine_rows', {
      source_no: 1,
      problem: 'p',
      seen_at: '2026-10-20T11:00:00.000Z',
    });
    const event = { installation: 'inst_1', event: 'investment.changed' };
    await seedRow(store, 'webhook_inbox', {
      ...event,
      event_id: 'evt_1',
      received_at: '2026-10-20T11:30:00.000Z',
    });
    const notice = { source_no: 1, seq: 1, target: 'slack', body: '{}', next_at: '2026-10-20T11:00:00.000Z' };
    await seedRow(store, 'notice_rows', {
      ...notice,
      queued_at: '2026-10-20T11:00:00.000Z',
      state: 'given_up',
    });
    const alert = { key: 'halted acme', source: 'acme', target: 'ops', body: '{}', next_at: notice.next_at };
    for (const [state, queued_at] of [
      ['given_up', '2026-10-20T11:10:00.000Z'],
      ['given_up', '2026-10-20T11:20:00.000Z'],
      ['pending', '2026-10-20T11:40:00.000Z'],
    ] as const)
      await seedRow(store, 'alert_rows', { ...alert, state, queued_at });
    await seedRow(store, 'erasures', {
      id: 'inv_1',
      cause: 'forget',
      invisible_at: '2026-10-20T11:00:00.000Z',
    });
    const status = await statusOf(placeOf(store), clock);
    expect(status).toMatchObject({
      at: '2026-10-20T12:00:00.000Z',
      health: 'attention',
      inbox: { pending: 1, given_up: 0, oldest_at: '2026-10-20T11:30:00.000Z' },
      notices: { pending: 0, given_up: 1, oldest_at: null },
      alerts: { pending: 1, given_up: 2, oldest_at: '2026-10-20T11:40:00.000Z' },
      erasures: { pending: 1, since: '2026-10-20T11:00:00.000Z', residue: false },
      change_seq: 0,
    });
    expect(status.sources).toMatchObject([
      {
        source: 'source1',
        health: 'attention',
        rows: 12,
        quarantine_open: 1,
        cursor_age_seconds: 60,
        cursor_days_left: 89,
      },
    ]);
    expect(status.sources[0]?.ticks.map(({ tick: number }) => number)).toEqual([7, 6, 5, 4, 3]);
  });

  test.each([
    ['2026-10-20T11:45:00.000Z', 'ok', false],
    ['2026-10-20T11:44:59.999Z', 'failing', true],
    [null, 'failing', true],
  ])('a source whose last tick was at %s has the health %s', async (lookedAt, health, stale) => {
    const clock = new StandingClock();
    const store = await freshStore();
    await seedSource(store, 1, { last_outcome: 'done', last_tick_at: lookedAt });
    const { sources } = await statusOf(placeOf(store), clock);
    expect(sources).toMatchObject([{ health, stale }]);
  });

  test.each([
    ['2026-08-21T12:00:00.001Z', false, 29],
    ['2026-08-21T12:00:00.000Z', true, 30],
    [null, false, null],
  ])('a cursor stored at %s has cursor_old %s', async (saved, old, left) => {
    const clock = new StandingClock();
    const store = await freshStore();
    await seedSource(store, 1, { cursor_saved_at: saved });
    const [source] = (await statusOf(placeOf(store), clock)).sources;
    expect(source?.cursor_old).toBe(old);
    if (left === null) expect(source?.cursor_days_left).toBeNull();
    else expect(source?.cursor_days_left).toBeGreaterThanOrEqual(left);
  });

  test('the overall health is that of the worst source, and no sources are not healthy', async () => {
    const clock = new StandingClock();
    const store = await freshStore();
    expect((await statusOf(placeOf(store), clock)).health).toBe('working');
    await seedSource(store, 1, { last_outcome: 'done' });
    await seedSource(store, 2, { last_outcome: 'failed' });
    expect((await statusOf(placeOf(store), clock)).health).toBe('failing');
  });

  test('a configured source that never ran is reported as not started and is not healthy overall', async () => {
    const clock = new StandingClock();
    const store = await freshStore();
    await seedSource(store, 1, { last_outcome: 'done', last_tick_at: '2026-10-20T11:59:00.000Z' });
    const seen = await statusOf(placeOf(store), clock, { configured: ['source1', 'later'] });
    expect(seen).toMatchObject({
      health: 'working',
      sources: [
        { source: 'source1', health: 'ok' },
        { source: 'later', state: 'empty', meaning: 'not started' },
      ],
    });
    const [held, missing] = seen.sources;
    expect(Object.keys(missing ?? {}).sort()).toEqual(Object.keys(held ?? {}).sort());
  });

  test('a source that failed or needs a person never has the health ok', () => {
    const states = ['empty', 'listing', 'relisting', 'held', 'sweeping', 'following', 'halted'] as const;
    const whole = { awaiting_deletion: 0, names_incomplete: 0 } as const;
    expect(states.map((state) => healthOf({ state, last_outcome: 'done', ...whole }))).toEqual([
      'working',
      'working',
      'working',
      'working',
      'working',
      'ok',
      'attention',
    ]);
    expect(states.map((state) => healthOf({ state, last_outcome: 'failed', ...whole }))).not.toContain('ok');
    // While it backs off for up to an hour, it misses what happens.
    expect(states.map((state) => healthOf({ state, last_outcome: 'waiting', ...whole }))).not.toContain('ok');
    // A stopped tick does not hide the failed ticks before it.
    expect(states.map((state) => healthOf({ state, last_outcome: 'stopped', ...whole }))).not.toContain('ok');
  });

  test('rows that await deletion need attention; incomplete names only need time', () => {
    const seen = { state: 'following', last_outcome: 'done' } as const;
    expect(healthOf({ ...seen, awaiting_deletion: 1, names_incomplete: 1 })).toBe('attention');
    expect(healthOf({ ...seen, awaiting_deletion: 0, names_incomplete: 1 })).toBe('working');
    expect(
      healthOf({ ...seen, last_outcome: 'failed', awaiting_deletion: 1, names_incomplete: 0 }),
      'rows awaiting deletion must not hide a failure',
    ).toBe('failing');
  });
});
