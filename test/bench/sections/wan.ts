import { measure, ratio, type Section } from '../measures.js';
import { inTurns, withFeed } from '../processes.js';

const latencyMs = 50;
const perPage = 100;

export const wan: Section = {
  name: 'wan',
  each: false,
  says: `A first listing from a platform ${latencyMs} ms away, compared with only fetching its pages one after the other.`,
  measure: (scale) =>
    withFeed(
      scale,
      scale.farPages * perPage,
      async (feed) => {
        const of = await inTurns(scale, ['fetch-only', 'product-bootstrap'], feed);
        return [
          ratio(
            `time ÷ fetching alone, ${scale.farPages} pages`,
            of('product-bootstrap', 'seconds'),
            of('fetch-only', 'seconds'),
            { most: 1.03 },
          ),
          measure('rosterd', 's', of('product-bootstrap', 'seconds')),
        ];
      },
      latencyMs,
    ),
};
