import { measure, type Section } from '../measures.js';
import { alone, withFeed } from '../processes.js';

export const soak: Section = {
  name: 'soak',
  each: false,
  says: 'Memory over many deltas of one process, looked at from the middle on, when everything has found its size.',
  measure: (scale) =>
    withFeed(scale, Math.min(10_000, ...scale.records), async (feed) => {
      const { slope = [], last = [] } = await alone(scale, 'soak', feed, { turns: scale.soak });
      return [
        // A tenth of a kilobyte a delta is 9 MB a day at a change a second; the rest is the collector's mood.
        measure('memory that stays', 'KB a delta', slope, { most: 0.1 }),
        measure('memory at the end', 'MB', last, { most: 200 }),
      ];
    }),
};
