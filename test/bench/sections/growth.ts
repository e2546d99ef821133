import { type Measure, measure, type Section } from '../measures.js';
import { alone, withFeed } from '../processes.js';
import type { Result } from '../variants.js';

export const growth: Section = {
  name: 'growth',
  each: false,
  says:
    'The same at increasing numbers of records. A bootstrap should keep its rate, a delta and a page of the roster should cost ' +
    'the same; totals read everything once and may grow with it.',
  measure: async (scale) => {
    const { growth: sizes, rounds } = scale;
    const bySize = new Map<number, Result[]>(sizes.map((size) => [size, []]));
    for (let round = 0; round < rounds; round += 1)
      for (const size of sizes)
        bySize
          .get(size)
          ?.push(
            await withFeed(scale, size, (feed) =>
              alone(scale, 'growth', feed, { turns: Math.min(scale.turns, 200) }),
            ),
          );
    const of = (size: number, key: string) => (bySize.get(size) ?? []).flatMap((result) => result[key] ?? []);
    const at = (size: number) => `at ${size.toLocaleString('en-US')}`;
    const figures = sizes.flatMap((size): Measure[] => [
      measure(
        `bootstrap ${at(size)}`,
        'rec/s',
        of(size, 'seconds').map((seconds) => size / seconds),
      ),
      measure(`delta ${at(size)}`, 'ms', of(size, 'delta')),
      measure(`roster page ${at(size)}`, 'ms', of(size, 'page')),
      measure(`totals by status ${at(size)}`, 'ms', of(size, 'totals')),
    ]);
    return [...figures, ...flatness(sizes, of)];
  },
};

/** The largest divided by the smallest of the same round; 1 is flat. */
function flatness(sizes: readonly number[], of: (size: number, key: string) => number[]): Measure[] {
  const [small, large] = [Math.min(...sizes), Math.max(...sizes)];
  const name = (what: string) =>
    `${what}, ${large.toLocaleString('en-US')} beside ${small.toLocaleString('en-US')}`;
  const grown = (key: string, each = (value: number, _size: number) => value) =>
    of(large, key).map((value, at) => each(value, large) / each(of(small, key)[at] ?? Number.NaN, small));
  return [
    measure(
      name('time a record of a bootstrap'),
      '×',
      grown('seconds', (seconds, size) => seconds / size),
    ),
    measure(name('delta'), '×', grown('delta'), { most: 1.5 }),
    measure(name('roster page'), '×', grown('page'), { most: 1.5 }),
    measure(
      name('totals, time a record'),
      '×',
      grown('totals', (millis, size) => millis / size),
    ),
  ];
}
