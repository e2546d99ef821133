import { measure, ratio, type Section } from '../measures.js';
import { inTurns, withFeed } from '../processes.js';

export const bootstrap: Section = {
  name: 'bootstrap',
  each: true,
  says:
    'A first listing over loopback HTTP into SQLite, published and indexed, compared with the floors; its memory and its file. ' +
    'Naive floor: fetch, parse, one prepared upsert of the same columns (identity among them, no raw text), a commit a ' +
    'page with its cursor, WAL, NORMAL, default cache, no secondary index. Tuned floor: the same with ten pages a ' +
    'commit, 64 MB of cache and between checkpoints, pages of 8 KB, FULL, and four suitable indexes built afterwards. ' +
    'Lean floor: the tuned one over `dispatch`, with the next page requested before this one is written, appending to a ' +
    'rowid table whose index on ids is built afterwards too.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const names = [
        ...(['fetch-only', 'naive-bootstrap', 'tuned-bootstrap', 'lean-bootstrap'] as const),
        'product-bootstrap',
      ] as const;
      const of = await inTurns(scale, names, feed);
      const rate = (name: (typeof names)[number], label: string) =>
        measure(
          label,
          'rec/s',
          of(name, 'seconds').map((seconds) => records / seconds),
        );
      const product = of('product-bootstrap', 'seconds');
      return [
        ratio('speed ÷ naive floor', of('naive-bootstrap', 'seconds'), product, { least: 1 }),
        ratio('speed ÷ tuned floor', of('tuned-bootstrap', 'seconds'), product, { least: 0.75 }),
        ratio('time ÷ lean floor', product, of('lean-bootstrap', 'seconds'), { most: 1.05 }),
        rate('fetch-only', 'fetching alone'),
        rate('naive-bootstrap', 'naive floor'),
        rate('tuned-bootstrap', 'tuned floor'),
        rate('lean-bootstrap', 'lean floor'),
        rate('product-bootstrap', 'rosterd'),
        measure('peak memory', 'MB', of('product-bootstrap', 'peakMegabytes'), { most: 200 }),
        measure('peak memory of the naive floor', 'MB', of('naive-bootstrap', 'peakMegabytes')),
        ratio('bytes ÷ naive floor', of('product-bootstrap', 'bytes'), of('naive-bootstrap', 'bytes'), {
          most: 1.3,
        }),
        ratio(
          'bytes ÷ tuned floor with its indexes',
          of('product-bootstrap', 'bytes'),
          of('tuned-bootstrap', 'bytes'),
        ),
        measure(
          'bytes a record',
          'B',
          of('product-bootstrap', 'bytes').map((bytes) => bytes / records),
        ),
      ];
    }),
};
