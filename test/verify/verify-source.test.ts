import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { FeedItem } from '../../src/domain/investment.js';
import type { CurrentRead, Platform, StatsRead, StoredRows } from '../../src/verify/ports.js';
import { verifySource } from '../../src/verify/verify-source.js';
import { identity, investment, listingPage, record, rejected } from '../store/samples.js';
import { received } from '../sync/support/truth.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

interface Stage {
  readonly stored?: readonly string[];
  readonly quarantined?: number;
  readonly listed?: readonly FeedItem[];
  readonly stats?: StatsRead | null;
  readonly full?: boolean;
  readonly sample?: number;
  readonly seed?: number;
  readonly awaiting?: readonly string[];
}

const version = (id: string) => ({ investment: investment(id), identity: identity(id) });

const published = (item: FeedItem): CurrentRead => ({
  item,
  publishedMatches: true,
  publishedObservedAt: null,
});

/** Verifies a mirror with these rows, beside a platform that lists these records and shows these counts. */
function verified(
  { stored = [], quarantined = 0, listed = [], stats = null, full = false, ...stage }: Stage,
  more: Partial<
    Pick<Platform, 'stats' | 'current'> &
      Pick<StoredRows, 'isUnchangedSince' | 'offerings' | 'records' | 'keepable'>
  > = {},
) {
  const rows: StoredRows = {
    count: async () => stored.length,
    tallies: async () => ({}),
    offerings: more.offerings ?? (async () => (stats === null && stored.length === 0 ? [] : ['ofr_1'])),
    idsAt: async (places) => places.map((place) => stored[place] ?? ''),
    awaiting: async () => new Set(stage.awaiting),
    async *ids() {
      yield* stored;
    },
    quarantined: async () => quarantined,
    records:
      more.records ??
      (async (ids) => new Map(ids.filter((id) => stored.includes(id)).map((id) => [id, version(id)]))),
    mark: async () => 1,
    isUnchangedSince: more.isUnchangedSince ?? (async () => true),
    changedSince: async () => new Set<string>(),
    keepable: more.keepable ?? (async (items) => items),
  };
  return verifySource(
    {
      source: 'acme',
      scope: { offering: null, partial: false },
      stored: rows,
      platform: {
        stats: more.stats ?? (async () => stats),
        current: more.current ?? (async (id) => published(record(id))),
        page: async () => received(listingPage(listed, 'end', false)),
      },
      catchUp: async () => null,
      pause: async () => {},
      clock: new VirtualClock(),
    },
    { sample: stage.sample ?? 5, seed: stage.seed ?? 7, full },
  );
}

const outcomeOf = (stage: Stage) => verified(stage).then(({ outcome, drift }) => ({ outcome, drift }));

test.each<[string, Stage, string]>([
  ['a sample that is equal', { stored: ['inv_1'] }, 'equal'],
  ['counts that are equal', { stats: { byStatus: {}, publishedThrough: null } }, 'equal'],
  ['an empty mirror and an empty listing', { full: true }, 'equal'],
  ['an empty mirror and no listing', {}, 'incomplete'],
  ['a sample, and records in quarantine', { stored: ['inv_1'], quarantined: 15 }, 'incomplete'],
  [
    'a listing with a record that cannot be read',
    { stored: ['inv_1'], listed: [record('inv_1'), rejected('inv_odd')], full: true },
    'incomplete',
  ],
])('verify source: comparing %s', async (_, stage, outcome) => {
  expect(await outcomeOf(stage)).toEqual({ outcome, drift: [] });
});

test('verify source: rows that await deletion are neither drift nor equal', async () => {
  const current = async () => null;
  const receipt = await verified({ stored: ['inv_1'], awaiting: ['inv_1'] }, { current });
  expect(receipt).toMatchObject({ outcome: 'awaiting', awaiting_deletion: 1, drift: [] });
});

const ten = ['inv_0', 'inv_1', 'inv_2', 'inv_3', 'inv_4', 'inv_5', 'inv_6', 'inv_7', 'inv_8', 'inv_9'];
const differing = async (id: string) => published(record(id, { status: 'executed' }));
const counted = (amount: number | bigint): StatsRead => ({
  byStatus: { active: { count: 1, committed_cents: amount, raised_cents: 1 } },
  publishedThrough: null,
});

test('verify source: a seed selects the same records again, each at most once, and other seeds select others', async () => {
  const sampled = async (seed: number, sample = 3) => {
    const asked: string[] = [];
    const current = async (id: string) => {
      asked.push(id);
      return published(record(id));
    };
    const receipt = await verified({ stored: ten, seed, sample }, { current });
    expect(receipt.sample).toEqual({ seed, compared: new Set(asked).size, unpublished: 0 });
    return asked;
  };
  const samples = await Promise.all(Array.from({ length: 30 }, (_, seed) => sampled(seed)));
  expect(samples.map(({ length }) => length)).toEqual(Array(30).fill(3));
  expect(await sampled(29)).toEqual(samples[29]);
  expect([...new Set(samples.flat())].sort()).toEqual(ten);
  expect(await sampled(1, 10)).toEqual(ten);
  expect(await sampled(1, 11)).toEqual(ten);
});

test('verify source: a difference that the sample and the listing find is reported once', async () => {
  const listed = [record('inv_1', { status: 'executed' }), record('inv_2', { status: 'executed' })];
  const receipt = await verified({ stored: ['inv_1', 'inv_2'], listed, full: true }, { current: differing });
  expect(receipt.outcome).toBe('drift');
  expect(receipt.drift).toMatchObject([
    { kind: 'record', id: 'inv_1' },
    { kind: 'record', id: 'inv_2' },
  ]);
});

test('verify source: counts that differ are drift, also sums that only a bigint holds', async () => {
  for (const amount of [7, 10n ** 18n]) {
    const receipt = await verified({ stats: counted(amount) });
    expect(receipt).toMatchObject({ outcome: 'drift', unsettled: [] });
    expect(receipt.drift).toMatchObject([
      { kind: 'tally', offering: 'ofr_1', amounts: [{}, { held: 0, platform: amount }, {}] },
    ]);
  }
});

test('verify source: differences of a source that changes all the time are unsettled, by offering and by record', async () => {
  const receipt = await verified(
    { stored: ['inv_1'], stats: counted(7) },
    { current: differing, isUnchangedSince: async () => false },
  );
  expect(receipt).toMatchObject({ outcome: 'unsettled', drift: [], unsettled: ['ofr_1', 'inv_1'] });
});

test('verify source: a record that the platform derives but that cannot be read is not compared', async () => {
  const receipt = await verified({ stored: ['inv_1'] }, { current: async (id) => published(rejected(id)) });
  expect(receipt).toMatchObject({
    outcome: 'incomplete',
    drift: [],
    sample: { compared: 0, unpublished: 1 },
  });
});

test.each([
  ['stopped', 'unfinished'],
  ['rate_limited', 'unfinished'],
  ['unreachable', 'failed'],
] as const)(
  'verify source: a run that ends with %s is %s, unless it found drift before',
  async (code, outcome) => {
    const current = async () => {
      throw new Fault(code, 'no more', { hint: 'later' });
    };
    const before = await verified({ stored: ['inv_1'] }, { current });
    expect(before).toMatchObject({
      outcome,
      sample: null,
      ended: { code, message: 'no more', hint: 'later', retry_at: null },
    });
    const after = await verified({ stored: ['inv_1'], stats: counted(7) }, { current });
    expect(after).toMatchObject({ outcome: 'drift', ended: { code } });
  },
);

test('verify source: an error that is no fault is thrown', async () => {
  const current = async () => {
    throw new TypeError('a defect');
  };
  await expect(verified({ stored: ['inv_1'] }, { current })).rejects.toThrow('a defect');
});

test('verify source: counts that the token may no longer see when they are compared again are skipped, not equal', async () => {
  let asked = 0;
  const stats = async () => {
    asked += 1;
    if (asked > 1) throw new Fault('forbidden', 'the token may not read stats');
    return {
      byStatus: { active: { count: 1, committed_cents: 1, raised_cents: 1 } },
      publishedThrough: null,
    };
  };
  // The mirror changes while the first difference is checked.
  const receipt = await verified(
    {},
    { stats, offerings: async () => ['ofr_1'], isUnchangedSince: async () => false },
  );
  expect(receipt).toMatchObject({
    outcome: 'incomplete',
    stats: { offerings: 0, skipped: [{ offering: 'ofr_1' }] },
  });
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'verify source: a person who is forgotten before read %i of the mirror makes no difference',
  async (at) => {
    let reads = 0;
    const isForgotten = () => {
      reads += 1;
      return reads >= at;
    };
    const without = <Item extends object>(item: Item) => ({ ...item, identity: null });
    const receipt = await verified(
      { stored: ['inv_1'], listed: [record('inv_1')], full: true },
      {
        records: async (ids) => {
          const forgotten = isForgotten();
          return new Map(ids.map((id) => [id, forgotten ? without(version(id)) : version(id)]));
        },
        keepable: async (items) => {
          const forgotten = isForgotten();
          return items.map((item) => (forgotten && item.kind === 'record' ? without(item) : item));
        },
      },
    );
    expect(receipt).toMatchObject({ outcome: 'equal', drift: [], unsettled: [] });
  },
);
