import { expect, test } from 'vitest';
import { parseInvestment } from '../../src/client/parse-investment.js';
import type { FeedItem } from '../../src/domain/investment.js';
import { canonicalDump } from './canonical-dump.js';
import { freshStore, mirrorFixture, rowsOf } from './mirror-fixture.js';
import { rejected } from './samples.js';

const wire = (id: string, more: object): FeedItem =>
  parseInvestment(
    {
      id,
      visible: true,
      status: 'approved',
      observed_at: '2026-02-01T00:00:00Z',
      amounts: { currency: 'USD', committed_cents: 1 },
      ...more,
    },
    () => '{}',
  );

/** Values from the platform that two databases could store differently. */
const first = [
  wire('inv_cents', {
    amounts: {
      currency: 'JPY',
      committed_cents: Number.MAX_SAFE_INTEGER,
      investment_size_cents: -1,
      in_escrow_cents: 0,
    },
    shares: '1234567890123456789.000000001',
    applied_at: '2026-01-01T00:00:00.123456+02:00',
  }),
  wire('inv_names', {
    group: 'a\u0000b\ud83dc',
    investor: {
      id: 'usr_1',
      name: 'José Ñandú 李雷 محمد \u202e 👩‍👩‍👧',
      email: '',
      bio: 'O\u2019Neil \\ "x" \n\t\u0001',
      address: { line: "1'; DROP TABLE sources; --", city: '$1 ? :id', country: 'ÅÄÖ' },
    },
    message: '\udc00 alone, \u0000 nothing',
  }),
  wire('inv_nested', {
    blockers: [{ key: 'z', deep: { b: [1, 2.5, 1e21, null, true], a: '\u0000\ud800' } }],
    later: { z: 1, a: { y: 'é', x: [] } },
    investor: { id: 'usr_2', name: 'N', hobby: { z: '\\u0000', a: 0.1 } },
  }),
  wire('inv_order_B', { group: 'b' }),
  wire('inv_order_a', { group: 'B' }),
  wire('inv_order_x', { group: 'É' }),
];

test('both databases store values of every kind identically, and reading the page again changes nothing', async () => {
  const dumps = [];
  for (const kind of ['sqlite', 'postgres'] as const) {
    const store = await freshStore(kind);
    const { list, delta } = await mirrorFixture({ store });
    await list([first, [rejected('inv_bad', '{"n":"\u0000 李"}'), rejected(null, 'x')]]);
    // The stored values equal the received ones, so nothing is a change.
    const again = await delta(first);
    expect(again).toMatchObject({ added: 0, changed: 0, removed: 0 });
    await delta([
      wire('inv_nested', { status: 'canceled', later: { z: 2 } }),
      wire('inv_cents', { applied_at: '2026-01-01T00:00:00.1Z' }),
      wire('inv_order_a', { status: undefined, visible: false, amounts: undefined, reason: 'с\u0000ём' }),
    ]);
    await list([first.slice(0, 5)], 'relist', { share: 1, rows: 0, accepted: true });
    const order = await rowsOf(store, "SELECT id FROM investments ORDER BY coalesce(group_label, ''), id");
    dumps.push({ dump: await canonicalDump(store), order });
  }
  const [sqlite, postgres] = dumps;
  expect(postgres).toEqual(sqlite);
  expect(sqlite?.dump.roster?.join()).toContain('李雷');
  expect(sqlite?.dump.investment_history).not.toEqual([]);
});
