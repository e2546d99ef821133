import { expect } from 'vitest';
import type { Investment } from '../../src/domain/investment.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { identity, record } from './samples.js';

/** The longest values a record may have, in characters that take the most bytes and do not compress. */
function longest(n: number): Partial<Investment> {
  const word = (kind: number) =>
    Array.from({ length: 200 }, (_, at) =>
      String.fromCharCode(0x4e00 + ((n * 7919 + kind * 104_729 + at * 1_299_709) % 20_000)),
    ).join('');
  const id = (prefix: string) => (prefix + String(n).padEnd(200, 'x0Yz')).slice(0, 200);
  return {
    status: word(1),
    currency: word(2),
    company_id: id('co_') as never,
    offering_id: id('ofr_') as never,
    investor_id: id('usr_') as never,
  };
}

test('every index accepts the longest values a record may have, in a listing and in the feed', async () => {
  const { list, delta, rows } = await mirrorFixture();
  const long = (n: number) => record(`inv_${String(n).padEnd(190, 'q')}`, longest(n), identity('Ada'));
  await list([[long(1), long(2)]]);
  await delta([long(3)]);
  expect(await rows('SELECT count(*) AS held FROM investments WHERE length(status) = 200')).toEqual([
    { held: 3 },
  ]);
});
