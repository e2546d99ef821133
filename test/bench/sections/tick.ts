import { measure, type Section } from '../measures.js';
import { alone, withFeed } from '../processes.js';

export const tick: Section = {
  name: 'tick',
  each: true,
  says:
    'Where the time of a tick goes that finds one changed record: from its start until the request is written to the ' +
    'socket, opening the source, waiting for the page, applying it, and what follows. Parts overlap a little.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const { request, opening, waiting, applying, rest, whole, commits, counted } = await alone(
        scale,
        'tick',
        feed,
      );
      const of = (name: string, unit: 'µs' | 'commits', values: readonly number[] = [Number.NaN]) =>
        measure(name, unit, values);
      return [
        of('whole tick', 'µs', whole),
        of('until the request is written', 'µs', request),
        of('opening the source', 'µs', opening),
        of('waiting for the page', 'µs', waiting),
        of('applying the page', 'µs', applying),
        of('after it', 'µs', rest),
        of('of all, in COMMIT', 'µs', commits),
        of('commits', 'commits', counted),
      ];
    }),
};
