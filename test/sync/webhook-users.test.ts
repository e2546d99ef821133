import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { WebhookUsers } from '../../src/sync/webhook-users.js';
import fc from '../support/property.js';

const minute = 60_000;

test('webhook users: counts what a look at every source counts, in any order of beginnings and ends', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    kind: fc.constantFrom('open' as const, 'minute' as const, 'never' as const, 'remove' as const),
    limits: fc.subarray(['address', 'token:1', 'token:2']),
    passed: fc.integer({ min: 0, max: 40_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const users = new WebhookUsers();
      const model = new Map<string, { until: number; limits: readonly string[] }>();
      let now = 0;
      for (const { name, kind, limits, passed } of steps) {
        now += passed;
        const source = name as SourceName;
        if (kind === 'remove') {
          users.remove(source);
          model.delete(name);
        } else {
          const until =
            kind === 'open'
              ? Number.POSITIVE_INFINITY
              : kind === 'minute'
                ? now + minute
                : Number.NEGATIVE_INFINITY;
          users.use(source, until, limits);
          model.set(name, { until, limits });
        }
        const live = [...model].filter(([, { until }]) => until > now);
        expect([...users.all(now)].sort()).toEqual(live.map(([one]) => one).sort());
        for (const limit of ['address', 'token:1', 'token:2'])
          expect([...users.sharing(limit, now)].sort()).toEqual(
            live.flatMap(([one, { limits: own }]) => (own.includes(limit) ? [one] : [])).sort(),
          );
      }
    }),
  );
});
