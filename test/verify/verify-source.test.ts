import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Platform, StatsRead, StoredRows } from '../../src/verify/ports.js';
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
}

const version = (id: string) => ({ investment: investment(id), identity: identity(id) });

/** Verifies a mirror with these rows, beside a platform that lists these records and shows these counts. */
function verified(
  { stored = [], quarantined = 0, listed = [], stats = null, full = false }: Stage,
  more: Partial<
    Pick<Platform, 'stats'> & Pick<StoredRows, 'isUnchangedSince' | 'offerings' | 'records' | 'keepable'>
  > = {},
) {
  const rows: StoredRows = {
    count: async () => stored.length,
    tallies: async () => ({}),
    offerings: more.offerings ?? (async () => (stats === null && stored.length === 0 ? [] : ['ofr_1'])),
    idsAt: async (places) => places.map((place) => stored[place] ?? ''),
    awaiting: async () => new Set<string>(),
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
        current: async (id) => ({ item: record(id), publishedMatches: true, publishedObservedAt: null }),
        page: async () => received(listingPage(listed, 'end', false)),
      },
      catchUp: async () => null,
      pause: async () => {},
      clock: new VirtualClock(),
    },
    { sample: 5, seed: 7, full },
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
