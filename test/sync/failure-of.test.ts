import { describe, expect, test } from 'vitest';
import { type About, Fault, type FaultCode } from '../../src/domain/fault.js';
import { instantFromMillis, millisOf } from '../../src/domain/instant.js';
import type { Random } from '../../src/runtime/random.js';
import { failureOf, type RetryPlan, unrecordedFailureOf, waitMillis } from '../../src/sync/failure-of.js';
import { VirtualClock } from './support/virtual-clock.js';

const clock = new VirtualClock();
const backoff = { baseMillis: 5_000, capMillis: 600_000 };
const chanceOf = (fraction: number): Random => ({ fraction: () => fraction }) as Random;
/** The longest wait of each attempt, unless a test says otherwise. */
const planOf = (failures = 0, chance = 1): RetryPlan => ({
  backoff,
  failures,
  clock,
  random: chanceOf(chance),
});
const fault = (code: FaultCode, about: About = {}) => new Fault(code, 'made up', about);
const waitOf = (error: unknown, plan = planOf()) => millisOf(failureOf(error, plan).retryAt) - clock.now();

describe('how long a tick that failed waits', () => {
  test('half of the wait is certain, the other half chance; each failure doubles both, up to the cap', () => {
    expect([waitMillis(planOf(0, 0)), waitMillis(planOf(0, 1))]).toEqual([2_500, 5_000]);
    expect([waitMillis(planOf(3, 0)), waitMillis(planOf(3, 1))]).toEqual([20_000, 40_000]);
    expect([waitMillis(planOf(7, 0)), waitMillis(planOf(50, 1))]).toEqual([300_000, 600_000]);
  });

  test('a database that failed is asked again within half a minute, however often it failed', () => {
    expect(waitOf(fault('database_busy'), planOf(50))).toBe(30_000);
    expect(waitOf(fault('database_full', { lasting: true }), planOf(50))).toBe(30_000);
    expect(waitOf(fault('unreachable'), planOf(50))).toBe(600_000);
  });

  test('what lasts until somebody acts waits for the longest interval at once', () => {
    expect(waitOf(fault('unreachable', { lasting: true }))).toBe(600_000);
    expect(waitOf(fault('unreachable'))).toBe(5_000);
  });

  test('a spent quota waits until the time that the platform says, and without one for the longest interval', () => {
    const at = instantFromMillis(clock.now() + 1_234);
    expect(failureOf(fault('rate_limited', { retryAt: at }), planOf()).retryAt).toBe(at);
    expect(waitOf(fault('rate_limited'))).toBe(600_000);
  });

  test('a 429 that asks for no wait is a broken contract, which waits as a failure does and never less than it says', () => {
    const unstated = (millis: number) =>
      fault('rate_limited', { waitUnstated: true, retryAt: instantFromMillis(clock.now() + millis) });
    expect(failureOf(unstated(1_000), planOf()).code).toBe('contract_broken');
    expect(waitOf(unstated(1_000))).toBe(5_000);
    expect(waitOf(unstated(7_000))).toBe(7_000);
  });
});

describe('what a failure says', () => {
  const said = (code: FaultCode, about: About) => failureOf(fault(code, about), planOf()).message;

  test('a failure that lasts, breaks the contract, or needs a person at the database, carries its hint', () => {
    expect(said('unreachable', { lasting: true, hint: 'renew it' })).toBe('made up (renew it)');
    expect(said('contract_broken', { hint: 'ask them' })).toBe('made up (ask them)');
    expect(said('database_unusable', { hint: 'grant it' })).toBe('made up (grant it)');
  });

  test('one that passes by itself does not, and one without a hint has none', () => {
    expect(said('unreachable', { hint: 'renew it' })).toBe('made up');
    expect(said('unreachable', { lasting: true })).toBe('made up');
    expect(said('contract_broken', {})).toBe('made up');
  });

  test('one that halts its source leaves the hint to the halt, unless the halt cannot be recorded', () => {
    for (const code of ['forbidden', 'usage'] as const) {
      const halting = fault(code, { hint: 'chmod it', lasting: true });
      expect(failureOf(halting, planOf())).toMatchObject({ message: 'made up', hint: 'chmod it' });
      expect(unrecordedFailureOf(halting, planOf()).message).toBe('made up (chmod it)');
    }
    expect(unrecordedFailureOf(fault('forbidden'), planOf()).message).toBe('made up');
    expect(unrecordedFailureOf(fault('unreachable', { hint: 'wait' }), planOf()).message).toBe('made up');
  });

  test('the text of an error that is no fault stays in the log', () => {
    const failure = failureOf(new TypeError('cannot read name of Ada'), planOf());
    expect(failure).toMatchObject({ code: 'internal', hint: null, lasting: false });
    expect(failure.message).not.toContain('Ada');
  });
});
