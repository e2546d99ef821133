import { measure, type Section } from '../measures.js';
import { alone, withFeed } from '../processes.js';

export const soak: Section = {
  name: 'soak',
  each: false,
  says:
    'Memory of one daemon over many changes that webhooks announce, each tenth a withdrawal, sampled in the second half, ' +
    'when sizes have settled.',
  measure: (scale) =>
    withFeed(scale, Math.min(10_000, ...scale.records), async (feed) => {
      const { soak: turns, soakSeconds: seconds } = scale;
      const lasting = seconds === null ? {} : { seconds };
      const { slope = [], last = [], changes = [] } = await alone(scale, 'soak', feed, { turns, ...lasting });
      return [
        // A tenth of a kilobyte a change is 9 MB a day at one change a second; the rest is variation of the garbage
        // collector.
        measure('memory that stays', 'KB a change', slope, { most: 0.1 }),
        measure('changes', 'changes', changes),
        measure('memory at the end', 'MB', last, { most: 200 }),
      ];
    }),
};
