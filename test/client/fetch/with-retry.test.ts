import { describe, expect, test } from 'vitest';
import type { Fetch } from '../../../src/client/fetch/fetch.js';
import { defaultRetryPlan, Outage, type RetryPlan, withRetry } from '../../../src/client/fetch/with-retry.js';
import { Fault } from '../../../src/domain/fault.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { FakeClock } from '../fake-clock.js';
import { answer, callTo, scripted } from './calls.js';

const call = callTo('http://api.test/investments');
const down = new Fault('unreachable', 'down');
const limited = (retry_after: number) =>
  answer(429, {
    error: { type: 'rate_limit_exceeded', details: { limit: 1000, period: 'hour', retry_after } },
  });

function retrying(fetch: Fetch, plan: Partial<RetryPlan> = {}, fraction = 0.5, outage = new Outage()) {
  const clock = new FakeClock();
  const random = { fraction: () => fraction, bytes: (count: number) => Buffer.alloc(count) };
  const send = withRetry(fetch, {
    plan: { ...defaultRetryPlan, ...plan },
    clock,
    random,
    logger: silentLogger,
    outage,
  });
  return { send, clock };
}

describe('retry: failures', () => {
  test('CLIENT-15 retry: 500, 502, 503 and no response are retried with growing, jittered backoff', async () => {
    const fetch = scripted(answer(500), answer(502, '<html>'), down, answer(200));
    const { send, clock } = retrying(fetch);
    expect((await send(call)).status).toBe(200);
    expect(clock.waits).toEqual([125, 250, 500]);
  });

  test('CLIENT-15 retry: the attempts end, and the last response is returned unchanged', async () => {
    const fetch = scripted(answer(503));
    expect((await retrying(fetch).send(call)).status).toBe(503);
    expect(fetch.calls).toHaveLength(4);
  });

  test('retry: during an outage a call is sent once, until one succeeds', async () => {
    const outage = new Outage();
    await expect(retrying(scripted(down), {}, 0.5, outage).send(call)).rejects.toBe(down);
    const second = scripted(down);
    await expect(retrying(second, {}, 0.5, outage).send(call)).rejects.toBe(down);
    expect(second.calls).toHaveLength(1);
    await retrying(scripted(answer(404)), {}, 0.5, outage).send(call);
    const healed = scripted(down, answer(200));
    expect((await retrying(healed, {}, 0.5, outage).send(call)).status).toBe(200);
  });

  test('retry: a call that was stopped does not end an outage', async () => {
    const outage = new Outage();
    await expect(retrying(scripted(down), {}, 0.5, outage).send(call)).rejects.toBe(down);
    const stopped = new Fault('stopped', 'stopped');
    await expect(retrying(scripted(stopped), {}, 0.5, outage).send(call)).rejects.toBe(stopped);
    const third = scripted(down);
    await expect(retrying(third, {}, 0.5, outage).send(call)).rejects.toBe(down);
    expect(third.calls).toHaveLength(1);
  });

  test('CLIENT-16 retry: a write that may have succeeded is not repeated', async () => {
    for (const failure of [answer(500), down]) {
      const fetch = scripted(failure, answer(201));
      const write = callTo('http://api.test/installations', { method: 'POST', replayable: false });
      await retrying(fetch)
        .send(write)
        .catch((error: unknown) => expect(error).toBe(down));
      expect(fetch.calls).toHaveLength(1);
    }
  });

  test.each([400, 401, 403, 404, 409, 410, 422])('CLIENT-13 retry: %i is not retried', async (status) => {
    const fetch = scripted(answer(status), answer(200));
    expect((await retrying(fetch).send(call)).status).toBe(status);
    expect(fetch.calls).toHaveLength(1);
  });

  test.each([
    ...(['contract_broken', 'stopped', 'reauthorize', 'usage'] as const).map((code) => new Fault(code, 'no')),
    new Fault('unreachable', 'an expired certificate', { lasting: true }),
    new TypeError('a defect'),
  ])('retry: an error that another attempt does not end is thrown as it is: %o', async (error) => {
    const fetch = scripted(error);
    await expect(retrying(fetch).send(call)).rejects.toBe(error);
    expect(fetch.calls).toHaveLength(1);
  });
});

describe('retry: 429', () => {
  test('RATE-11 CLIENT-14 retry: a 429 waits the stated time plus up to a second, and repeats writes too', async () => {
    const fetch = scripted(limited(3), answer(201));
    const write = callTo('http://api.test/installations', { method: 'POST', replayable: false });
    const { send, clock } = retrying(fetch);
    expect((await send(write)).status).toBe(201);
    expect(clock.waits).toEqual([3500]);
  });

  test('CLIENT-15 retry: retries after 429 and after failures are counted separately', async () => {
    const fetch = scripted(down, limited(1), down, limited(1), down, answer(200));
    expect((await retrying(fetch).send(call)).status).toBe(200);
    expect(fetch.calls).toHaveLength(6);
  });

  test('CLIENT-15 retry: the number of retries after 429 is limited', async () => {
    const fetch = scripted(limited(1));
    expect((await retrying(fetch).send(call)).status).toBe(429);
    expect(fetch.calls).toHaveLength(6);
  });

  test('ERR-03 CLIENT-17 retry: the wait after a 429 that states none grows', async () => {
    const fetch = scripted(answer(429), answer(429), answer(429), answer(200));
    const { send, clock } = retrying(fetch);
    expect((await send(call)).status).toBe(200);
    expect(clock.waits).toEqual([1500, 2500, 4500]);
  });

  test.each([
    [4, [5000], 200],
    [4.001, [], 429],
    [1800, [], 429],
  ])(
    'retry: a wait of five seconds ends in the call, a longer one is returned to the caller: %d s and the longest jitter',
    async (seconds, waits, status) => {
      const { send, clock } = retrying(scripted(limited(seconds), answer(200)), {}, 1);
      expect((await send(call)).status).toBe(status);
      expect(clock.waits).toEqual(waits);
    },
  );

  test('retry: a budget that soon resets is waited for, otherwise the fault is thrown', async () => {
    const clock = new FakeClock();
    const opens = (inMillis: number) =>
      new Fault('rate_limited', 'spent', { retryAt: instantFromMillis(clock.now() + inMillis) });
    expect((await retrying(scripted(opens(2000), answer(200))).send(call)).status).toBe(200);
    for (const fault of [opens(600_000), new Fault('rate_limited', 'no time stated')]) {
      const { send, clock: waiting } = retrying(scripted(fault, answer(200)));
      await expect(send(call)).rejects.toBe(fault);
      expect(waiting.waits).toEqual([]);
    }
  });
});
