import { expect, test } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import type { HeldRows, StatsRead } from '../../src/verify/ports.js';
import { verifySource } from '../../src/verify/verify-source.js';
import { identity, investment, listingPage, record, rejected } from '../store/samples.js';
import { received } from '../sync/support/truth.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

interface Stage {
  readonly held?: readonly string[];
  readonly quarantined?: number;
  readonly listed?: readonly FeedItem[];
  readonly stats?: StatsRead | null;
  readonly full?: boolean;
}

const version = (id: string) => ({ investment: investment(id), identity: identity(id) });

/** Verifies a mirror with these rows, beside a platform that lists these records and shows these counts. */
function outcomeOf({ held = [], quarantined = 0, listed = [], stats = null, full = false }: Stage) {
  const rows: HeldRows = {
    count: async () => held.length,
    tallies: async () => ({}),
    offerings: async () => (stats === null && held.length === 0 ? [] : ['ofr_1']),
    idsAt: async (places) => places.map((place) => held[place] ?? ''),
    awaiting: async () => new Set<string>(),
    async *ids() {
      yield* held;
    },
    quarantined: async () => quarantined,
    records: async (ids) => new Map(ids.filter((id) => held.includes(id)).map((id) => [id, version(id)])),
    mark: async () => 1,
    changedSince: async () => new Set<string>(),
    keepable: async (items) => items,
  };
  return verifySource(
    {
      source: 'acme',
      scope: { offering: null, partial: false },
      held: rows,
      platform: {
        stats: async () => stats,
        current: async (id) => ({ item: record(id), publishedMatches: true }),
        page: async () => received(listingPage(listed, 'end', false)),
      },
      catchUp: async () => null,
      pause: async () => {},
      clock: new VirtualClock(),
    },
    { sample: 5, seed: 7, full },
  ).then(({ outcome, drift }) => ({ outcome, drift }));
}

test.each<[string, Stage, string]>([
  ['a sample that is equal', { held: ['inv_1'] }, 'equal'],
  ['counts that are equal', { stats: { byStatus: {}, publishedThrough: null } }, 'equal'],
  ['an empty mirror and an empty listing', { full: true }, 'equal'],
  ['an empty mirror and no listing', {}, 'incomplete'],
  ['a sample, and records in quarantine', { held: ['inv_1'], quarantined: 15 }, 'incomplete'],
  [
    'a listing with a record that cannot be read',
    { held: ['inv_1'], listed: [record('inv_1'), rejected('inv_odd')], full: true },
    'incomplete',
  ],
])('verify source: comparing %s', async (_, stage, outcome) => {
  expect(await outcomeOf(stage)).toEqual({ outcome, drift: [] });
});
