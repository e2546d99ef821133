import { expect } from 'vitest';
import { parseInvestment } from '../../src/client/parse-investment.js';
import { wholeRecord } from '../client/fixtures.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';

const sent = (id: string, more: Record<string, unknown>) => {
  const wire = JSON.stringify({ ...wholeRecord(), id, ...more });
  return parseInvestment(JSON.parse(wire), () => wire);
};

test('hostile texts are stored unchanged, except that characters the database cannot store become U+FFFD', async () => {
  const hostile = [
    ["'; DROP TABLE investment_rows; --", "'; DROP TABLE investment_rows; --"],
    ['a\0b', 'a\ufffdb'],
    ['\ud800 half', '\ufffd half'],
    [
      '\u202e\u200b\ufeff \u{1f600} e\u0301 \r\n\t\u001b[2J',
      '\u202e\u200b\ufeff \u{1f600} e\u0301 \r\n\t\u001b[2J',
    ],
    ['x'.repeat(100_000), 'x'.repeat(100_000)],
  ] as const;
  const { list, delta, rows } = await mirrorFixture();
  const records = () => hostile.map(([text], at) => sent(`inv_${at}`, { group: text, message: text }));
  await list([records()]);
  const kept = () => rows('SELECT group_label, message FROM roster ORDER BY id');
  const wanted = hostile.map(([, text]) => ({ group_label: text, message: text }));
  expect(await kept()).toEqual(wanted);
  // The same page again changes nothing: the replaced characters compare equal.
  expect(await delta(records())).toMatchObject({ changed: 0, unchanged: hostile.length });
  expect(await kept()).toEqual(wanted);
});

test('an unknown enumeration value is stored and does not quarantine the record', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[sent('inv_1', { status: 'levitating', investment_type: 'moonshot' })]]);
  expect(await rows('SELECT status, investment_type FROM investments')).toEqual([
    { status: 'levitating', investment_type: 'moonshot' },
  ]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 0 }]);
});

test.each([2 ** 53, 2 ** 60, 1e300, 0.5])(
  'a record with an amount of %d cents is quarantined with its body; the amount is never rounded',
  async (cents) => {
    const { list, rows } = await mirrorFixture();
    const amounts = { ...(wholeRecord().amounts as object), committed_cents: cents };
    const largest = { ...amounts, committed_cents: 2 ** 53 - 1 };
    await list([[sent('inv_1', { amounts }), sent('inv_2', { amounts: largest })]]);
    expect(await rows('SELECT id, committed_cents FROM investments')).toEqual([
      { id: 'inv_2', committed_cents: Number.MAX_SAFE_INTEGER },
    ]);
    const [aside] = (await rows('SELECT id, problem, body FROM quarantine')) as [Record<string, string>];
    expect(aside).toMatchObject({ id: 'inv_1', problem: expect.stringContaining('committed_cents') });
    expect(JSON.parse(aside.body ?? '').amounts.committed_cents).toBe(cents);
  },
);
