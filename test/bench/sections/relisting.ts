import { measure, ratio, type Section } from '../measures.js';
import { inTurns, withFeed } from '../processes.js';

export const relisting: Section = {
  name: 'relisting',
  each: true,
  says: 'A re-listing without changes, compared with the bootstrap of the naive floor.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const of = await inTurns(scale, ['naive-bootstrap', 'product-relisting'], feed);
      const seconds = of('product-relisting', 'seconds');
      return [
        ratio('speed ÷ naive floor', of('naive-bootstrap', 'seconds'), seconds, { least: 1.2 }),
        measure(
          'rosterd',
          'rec/s',
          seconds.map((one) => records / one),
        ),
        // The peak of a process that listed everything before the re-listing: the greater of the two.
        measure('peak memory', 'MB', of('product-relisting', 'peakMegabytes'), { most: 200 }),
        measure(
          'file grown, a record',
          'B',
          of('product-relisting', 'grown').map((bytes) => bytes / records),
        ),
      ];
    }),
};
