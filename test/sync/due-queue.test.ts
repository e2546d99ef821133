import { expect, test } from 'vitest';
import { DueQueue } from '../../src/sync/due-queue.js';
import fc from '../support/property.js';

interface Entry {
  readonly dueAt: number;
  readonly no: number;
}

test('due queue: takes what a sorted list takes, whatever was added and removed before', () => {
  const step = fc.oneof(
    // Queues get long only if more is added than taken.
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), value: fc.nat(9) }) },
    fc.record({ kind: fc.constant('take' as const), value: fc.constant(0) }),
    fc.record({ kind: fc.constant('remove' as const), value: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new DueQueue<Entry>();
      let model: Entry[] = [];
      for (const [no, { kind, value }] of steps.entries()) {
        if (kind === 'add') {
          const entry = { dueAt: value, no };
          queue.add(entry);
          model.push(entry);
          model.sort((a, b) => a.dueAt - b.dueAt || a.no - b.no);
        } else if (kind === 'take') {
          expect(queue.peek()).toBe(model[0]);
          expect(queue.take()).toBe(model.shift());
        } else {
          const entry = model[value % Math.max(1, model.length)];
          if (entry !== undefined) queue.remove(entry);
          model = model.filter((other) => other !== entry);
        }
        expect(queue.size).toBe(model.length);
      }
      expect(model.map(() => queue.take())).toEqual(model);
      expect([queue.take(), queue.size]).toEqual([undefined, 0]);
    }),
  );
});
