import { measure, ratio, type Section } from '../measures.js';
import { alone, withFeed } from '../processes.js';

export const delta: Section = {
  name: 'delta',
  each: true,
  says:
    'A tick that finds one changed record, compared with a round trip with one upsert and the cursor in a FULL commit into a ' +
    'table of as many records; both read the same change, in turns.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const { floorP50, floorP99, productP50, productP99 } = await alone(scale, 'delta', feed);
      if (!floorP50 || !floorP99 || !productP50 || !productP99)
        throw new Error('the variant returned fewer figures');
      return [
        ratio('median ÷ floor', productP50, floorP50, { most: 1.5 }),
        ratio('p99 ÷ floor', productP99, floorP99, { most: 2 }),
        measure('median', 'ms', productP50),
        measure('p99', 'ms', productP99),
        measure('median of the floor', 'ms', floorP50),
        measure('p99 of the floor', 'ms', floorP99),
      ];
    }),
};
