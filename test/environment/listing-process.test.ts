import { expect, onTestFinished, test, vi } from 'vitest';
import { reaction } from '../../src/domain/fault.js';
import { seededRandom } from '../../src/runtime/random.js';
import { ListingProcess } from '../../src/store/dialect/sqlite/listing-process.js';
import { failureOf } from '../../src/sync/failure-of.js';
import { StandingClock } from '../store/support/mirror.js';

test('a helper process that the system refuses to start halts no source', () => {
  // Too long for the system, like a lack of memory: Node throws these, and reports other reasons later.
  vi.stubEnv('TOO_LONG', 'x'.repeat(4_000_000));
  onTestFinished(() => void vi.unstubAllEnvs());
  const plan = { backoff: { baseMillis: 1_000, capMillis: 300_000 }, failures: 0 };
  const told = failureOf(
    thrownBy(() => new ListingProcess('mirror.db')),
    { ...plan, clock: new StandingClock(), random: seededRandom(1) },
  );
  expect([reaction[told.code], told.message]).toEqual([
    'retry',
    expect.stringContaining('too little memory'),
  ]);
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
