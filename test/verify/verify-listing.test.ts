import { expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem, Identity } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import type { Settled } from '../../src/verify/settle.js';
import { verifyListing } from '../../src/verify/verify-listing.js';
import { identity, investment, listingPage, record, rejected } from '../store/samples.js';
import { received } from '../sync/support/truth.js';

const through = '2026-03-01T00:00:00.000Z' as Instant;

interface Mirrored {
  /** What the mirror stores, without changing. */
  readonly stored: readonly FeedItem[];
  /** Records that it changed while catching up. */
  readonly changed?: readonly string[];
  /** What catching up stores without an entry in the change feed. */
  readonly republished?: readonly FeedItem[];
  /** When the platform says that it published a record. */
  readonly published?: Instant;
  /** Rows that await deletion. */
  readonly awaiting?: readonly string[];
  /** How often the platform says that the published version is not the newest one; for ever with `Infinity`. */
  readonly unpublished?: number;
}

/**
 * A mirror, empty unless given, next to a platform that lists these records, in pages if there are several arrays, and
 * still has `still` of them.
 */
function stage(
  listed: readonly FeedItem[] | readonly FeedItem[][],
  still: readonly string[],
  mirror: Mirrored = { stored: [] },
) {
  const stored = new Map(
    mirror.stored.flatMap((one) =>
      one.kind === 'record' ? [[one.investment.id as string, one] as const] : [],
    ),
  );
  const found: Settled[] = [];
  const asked: string[] = [];
  let catchUps = 0;
  const isPaged = listed.length > 0 && listed.every((one) => Array.isArray(one));
  const pages = isPaged ? listed : [listed as readonly FeedItem[]];
  const run = () =>
    verifyListing(
      {
        stored: {
          ...{
            count: async () => 0,
            tallies: async () => ({}),
            offerings: async () => [],
            idsAt: async () => [],
            awaiting: async () => new Set(mirror.awaiting),
            quarantined: async () => 0,
          },
          async *ids() {
            yield* stored.keys();
          },
          records: async (ids) =>
            new Map(
              ids.flatMap((id) => {
                const own = stored.get(id);
                return own === undefined ? [] : [[id, own] as const];
              }),
            ),
          mark: async () => 1,
          isUnchangedSince: async () => true,
          changedSince: async () => new Set(mirror.changed),
          keepable: async (items) => items,
        },
        platform: {
          stats: async () => null,
          page: async (position) => {
            const at = position.kind === 'page' ? Number(position.token) : 0;
            const items = pages[at] ?? absent(`page ${at}`);
            return received(listingPage(items, `${at + 1}`, at + 1 < pages.length));
          },
          current: async (id) => {
            asked.push(id);
            if (!still.includes(id)) return null;
            return {
              item: { ...record(id), investment: investment(id) },
              publishedMatches: asked.length > (mirror.unpublished ?? 0),
              publishedObservedAt: mirror.published ?? null,
            };
          },
        },
        catchUp: async () => {
          catchUps += 1;
          if (catchUps > 100) absent('end of catching up');
          for (const one of mirror.republished ?? [])
            if (one.kind === 'record') stored.set(one.investment.id, one);
          return through;
        },
        pause: async () => {},
        found: (settled) => found.push(settled),
      },
      through,
    );
  return { run, found, asked, caughtUp: () => catchUps };
}

const absent = (what: string): never => {
  throw new Error(`there is no ${what}`);
};
/** An identity of which nothing is known. */
const nobody: Identity = {
  ...identity('', { email: null, country: null }),
  name: null,
};
const seen = (id: string, observed_at: string) => record(id, { observed_at: observed_at as Instant });
const missing = (id: string): Settled => ({ drift: [{ kind: 'missing', id }], settled: true });

test('verify listing: a record that came and went during the listing is not drift, as the mirror never stored it', async () => {
  for (const observedAt of [through, '2026-03-01T00:00:01.000Z']) {
    const { run, found, asked } = stage([seen('inv_gone', observedAt)], []);
    await run();
    expect([found, asked]).toEqual([[], ['inv_gone']]);
  }
});

test('verify listing: a record that came during the listing and stays must be stored after catching up', async () => {
  const { run, found } = stage([seen('inv_new', through)], ['inv_new']);
  await run();
  expect(found).toEqual([missing('inv_new')]);
});

test('verify listing: a record older than the catch-up is missing without another request', async () => {
  const { run, found, asked } = stage([seen('inv_old', '2026-02-28T23:59:59.999Z')], []);
  await run();
  expect([found, asked]).toEqual([[missing('inv_old')], []]);
});

/*
 * The platform withdraws a record just before the listing reaches its place, and publishes it again unchanged just
 * after. Catching up brings only the second publication, which changes nothing in the mirror.
 */
test('verify listing: a record that left and returned while the listing passed its place is not drift', async () => {
  const { run, found, asked } = stage([seen('inv_stays', through)], ['inv_returned', 'inv_stays'], {
    stored: [record('inv_returned'), seen('inv_stays', through)],
  });
  await run();
  expect([found, asked[0]]).toEqual([[], 'inv_returned']);
});

test('verify listing: a record that returned is compared, and what differs in it is drift', async () => {
  const { run, found } = stage([], ['inv_returned'], {
    stored: [record('inv_returned', { committed_cents: 1 as Cents })],
  });
  await run();
  expect(found).toMatchObject([{ drift: [{ kind: 'record', id: 'inv_returned' }], settled: true }]);
});

test('verify listing: a record that the listing lacks and the platform does not have is extra, also while others change', async () => {
  const extra: Settled = { drift: [{ kind: 'extra', id: 'inv_invented' }], settled: true };
  for (const changed of [[], ['inv_other']]) {
    const { run, found, asked } = stage([], [], { stored: [record('inv_invented')], changed });
    await run();
    expect([found, asked]).toEqual([[extra], ['inv_invented']]);
  }
});

const [first, later, latest] = ['2026-02-02', '2026-02-03', '2026-02-04'].map(
  (day) => `${day}T00:00:00.000Z` as Instant,
) as [Instant, Instant, Instant];
const misdated: Settled = {
  drift: [{ kind: 'record', id: 'inv_1', columns: ['observed_at'], amounts: [] }],
  settled: true,
};

test('verify listing: a stored time of publication that is earlier than the listed one is drift', async () => {
  const { run, found, asked } = stage([seen('inv_1', later)], [], { stored: [seen('inv_1', first)] });
  await run();
  expect([found, asked]).toEqual([[misdated], []]);
});

test('verify listing: a stored time of publication that is later than the listed one is compared with the published one', async () => {
  for (const [published, expected] of [
    [first, [misdated]],
    [later, []],
  ] as const) {
    const { run, found } = stage([seen('inv_1', first)], ['inv_1'], {
      stored: [seen('inv_1', later)],
      published,
    });
    await run();
    expect(found).toEqual(expected);
  }
});

test('verify listing: a record published again during the listing is not drift, whichever way the clock of the platform moved', async () => {
  for (const [stored, listed, published] of [
    [first, later, latest],
    [latest, later, first],
  ] as const) {
    const { run, found, asked } = stage([seen('inv_1', listed)], ['inv_1'], {
      stored: [seen('inv_1', stored)],
      republished: [seen('inv_1', published)],
      published,
    });
    await run();
    expect([found, asked]).toEqual([[], ['inv_1']]);
  }
});

test('verify listing: a record whose newest version is not published is compared when it is, and unsettled if it never is', async () => {
  const stored = [record('inv_1', { committed_cents: 1 as Cents })];
  for (const [unpublished, settled] of [
    [2, true],
    [Number.POSITIVE_INFINITY, false],
  ] as const) {
    const { run, found } = stage([record('inv_1')], ['inv_1'], { stored, changed: ['inv_1'], unpublished });
    await run();
    expect(found).toMatchObject([{ drift: [{ kind: 'record', id: 'inv_1' }], settled }]);
  }
});

test('verify listing: a reason that differs is drift only where both sides have one', async () => {
  const reason = (why: string | null) => record('inv_1', { reason: why });
  for (const [stored, listed, columns] of [
    ['changed', 'recomputed', ['reason']],
    ['changed', null, []],
    [null, 'changed', []],
  ] as const) {
    const { run, found } = stage([reason(listed)], [], { stored: [reason(stored)] });
    await run();
    expect(
      found.flatMap(({ drift }) => drift.flatMap((one) => (one.kind === 'record' ? one.columns : []))),
    ).toEqual(columns);
  }
});

test('verify listing: equal sides need no further request, over all pages of the listing', async () => {
  const pages = [[record('inv_1'), record('inv_2')], [record('inv_3')]];
  const { run, found, asked, caughtUp } = stage(pages, [], { stored: pages.flat() });
  expect(await run()).toEqual({ listed: 3, compared: 3, unreadable: 0 });
  expect([found, asked, caughtUp()]).toEqual([[], [], 0]);
});

test('verify listing: a record of the last page that the mirror lacks is missing', async () => {
  const { run, found } = stage([[record('inv_1')], [record('inv_2')]], [], { stored: [record('inv_1')] });
  await run();
  expect(found).toEqual([missing('inv_2')]);
});

test('verify listing: a stored record that the listing names but nobody can read is not extra', async () => {
  const { run, found, asked } = stage([rejected('inv_1'), rejected(null)], [], { stored: [record('inv_1')] });
  expect(await run()).toEqual({ listed: 2, compared: 0, unreadable: 2 });
  expect([found, asked]).toEqual([[], []]);
});

test('verify listing: a row that awaits deletion is expected to be missing, and is doubted if it is not', async () => {
  for (const [listed, expected] of [
    [[], []],
    [[record('inv_1')], [{ drift: [{ kind: 'doubted', id: 'inv_1' }], settled: true }]],
  ] as const) {
    const { run, found } = stage(listed, [], { stored: [record('inv_1')], awaiting: ['inv_1'] });
    await run();
    expect(found).toEqual(expected);
  }
});

test('verify listing: a record that changed during the listing and is equal now needs one catch-up', async () => {
  const stored = [record('inv_1')];
  const { run, found, asked, caughtUp } = stage(
    [record('inv_1', { committed_cents: 1 as Cents })],
    ['inv_1'],
    {
      stored,
      changed: ['inv_1'],
    },
  );
  await run();
  expect([found, asked, caughtUp()]).toEqual([[], ['inv_1'], 1]);
});

test('verify listing: drift names the columns that differ, the amounts on both sides, and an identity that one side lacks', async () => {
  const stored = [
    record('inv_1', { committed_cents: 1 as Cents, status: 'active' }),
    record('inv_2', {}, null),
  ];
  const { run, found } = stage([record('inv_1'), record('inv_2', {}, nobody)], [], { stored });
  await run();
  expect(found.flatMap(({ drift }) => drift)).toEqual([
    {
      kind: 'record',
      id: 'inv_1',
      columns: expect.toSatisfy((columns: string[]) => `${columns.toSorted()}` === 'committed_cents,status'),
      amounts: [{ column: 'committed_cents', held: 1, platform: 100_00 }],
    },
    { kind: 'record', id: 'inv_2', columns: ['identity'], amounts: [] },
  ]);
});
