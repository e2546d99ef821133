import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { AcceptedEvent } from '../../src/inbox/ports.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';
import { head, RawClient } from './support/raw-http.js';
import { acme, eventBody, receiverFixture } from './support/receiver-fixture.js';

const its = receiverFixture();

/** An inbox that blocks every row until the test releases it. */
function slowInbox() {
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  class Slow extends MemoryInbox {
    entered = 0;
    override async accept(event: AcceptedEvent) {
      this.entered += 1;
      await gate;
      return await super.accept(event);
    }
  }
  return { slow: new Slow(), go };
}

/** A logger that keeps its errors. */
function errorLines() {
  const lines: unknown[] = [];
  const error = (...one: unknown[]) => void lines.push(one);
  return { lines, logger: { ...silentLogger, error } };
}
const line = (error: Error, count: number) => [{ error, count }, 'deliveries could not be accepted'];

describe('receiver: internal failures', () => {
  test('deliveries that a failing database refuses are in the log at most once a minute, with the newest cause', async () => {
    const clock = new VirtualClock(Date.now());
    const { lines, logger } = errorLines();
    await its.build({ clock, logger });
    const away = new Fault('database_busy', 'away');
    its.inbox.failure = away;
    for (let sent = 0; sent < 3; sent += 1) expect((await its.deliver()).status).toBe(503);
    const full = new Fault('database_full', 'full');
    its.inbox.failure = full;
    expect((await its.deliver()).status).toBe(503);
    expect(lines).toEqual([line(away, 1)]);
    await clock.advance(60_000);
    expect(lines).toEqual([line(away, 1), line(full, 3)]);
    its.inbox.failure = undefined;
    expect((await its.deliver()).status).toBe(202);
    await clock.advance(120_000);
    expect(lines).toHaveLength(2);
  });

  test('DELIV-01 a busy or full database is answered with 503 and Retry-After, never with 2xx', async () => {
    for (const code of ['database_busy', 'database_full'] as const) {
      its.inbox.failure = new Fault(code, 'made up');
      const answer = await its.deliver();
      expect(answer).toMatchObject({ status: 503, text: '' });
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.headers.get('connection'), 'for the next attempt').toBe('keep-alive');
    }
    its.inbox.failure = undefined;
    its.nothingHappened();
    expect((await its.deliver()).status).toBe(202);
  });

  test('a sender waits two seconds for a database that does not respond', async () => {
    const clock = new VirtualClock(Date.now());
    const { slow } = slowInbox();
    const { lines, logger } = errorLines();
    await its.build({ inbox: slow, clock, logger });
    const delivery = its.deliver();
    await expect.poll(() => slow.entered).toBe(1);
    await clock.advance(1_999);
    expect(its.receiver.status().results.unavailable).toBe(0);
    await clock.advance(1);
    expect(its.receiver.status().results.unavailable).toBe(1);
    expect((await delivery).status).toBe(503);
    expect(its.nudged).toEqual([]);
    expect(lines).toEqual([line(new Error('the database did not answer in time'), 1)]);
  });

  test.each([
    [
      'a delivery stored after its sender got a 503 is worked without waiting for the retry',
      {},
      false,
      [[acme]],
    ],
    ['a test event stored after its sender got a 503 has no effect', { id: 'evt_test_1' }, false, []],
    ['a delivery stored after the receiver was closed is left to the next start', {}, true, []],
  ] as const)('%s', async (_title, over, closes, nudged) => {
    const { slow, go } = slowInbox();
    await its.build({ inbox: slow, limits: { acceptMillis: 50 } });
    expect((await its.deliver({ body: eventBody(over) })).status).toBe(503);
    if (closes) await its.receiver.close();
    go();
    await expect.poll(() => slow.rows.length).toBe(1);
    await settled();
    expect(its.nudged).toEqual(nudged);
  });

  test('an internal error reveals nothing about itself', async () => {
    const failure = new Error('secret detail at /home/somebody/file.ts');
    const { lines, logger } = errorLines();
    await its.build({
      logger,
      resolveSources: () => {
        throw failure;
      },
    });
    const answer = await its.deliver();
    expect(answer).toMatchObject({ status: 500, text: '' });
    expect(JSON.stringify([...answer.headers])).not.toContain('detail');
    expect(its.receiver.status().results.defect).toBe(1);
    expect(lines).toEqual([line(failure, 1)]);
  });
});

describe('receiver: slow and broken senders', () => {
  const quick = { headersMillis: 300, requestMillis: 500, checkEveryMillis: 50 };

  test('senders that drip headers or bodies are cut off, other senders are served meanwhile', async () => {
    await its.build({ limits: quick });
    const drips = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? new RawClient(its.port).send('POST /webhooks HTTP/1.1\r\nHost: a\r\nX-Slow: ')
        : new RawClient(its.port).send(
            `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
          ),
    );
    expect((await its.deliver()).status).toBe(202);
    const answers = await Promise.all(drips.map((client) => client.closed));
    for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(its.inbox.rows.length).toBe(1);
  });

  test('a sender that disconnects in the middle leaves nothing behind', async () => {
    const client = new RawClient(its.port).send(
      `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
    );
    await its.deliver({ body: eventBody({ id: 'evt_other' }) });
    client.cut();
    await client.closed;
    await expect.poll(() => its.receiver.status().results.cut_off).toBe(1);
    expect(its.inbox.rows.map((row) => row.eventId)).toEqual(['evt_other']);
  });

  test('close lets a running delivery finish and accepts no new one', async () => {
    const { slow, go } = slowInbox();
    await its.build({ inbox: slow });
    const delivery = its.deliver();
    await expect.poll(() => slow.entered).toBe(1);
    const closing = its.receiver.close();
    await expect(its.deliver()).rejects.toThrow();
    go();
    const answer = await delivery;
    expect(answer.status).toBe(202);
    expect(answer.headers.get('connection'), 'the close does not wait for the next delivery').toBe('close');
    await closing;
    expect(slow.rows.length).toBe(1);
    await its.receiver.close();
  });

  test('close waits a second for a request that has not arrived completely, not as long as its sender may take', async () => {
    const waits = new Map<number, () => void>();
    const wait: Clock['wait'] = (millis, signal) =>
      new Promise((resolve) => {
        waits.set(millis, resolve);
        signal?.addEventListener('abort', () => resolve());
      });
    await its.build({ clock: { ...systemClock, wait } });
    const slow = new RawClient(its.port).send(
      `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
    );
    await expect.poll(() => its.receiver.status().connections.bytes).toBe(6);
    const closing = its.receiver.close();
    expect([...waits.keys()]).toContain(1000);
    waits.get(1000)?.();
    await closing;
    expect(await slow.closed).toBe('');
    expect(its.receiver.status().results.cut_off).toBe(1);
  });

  test('close waits for a delivery that is being stored although its sender disconnected', async () => {
    const { slow, go } = slowInbox();
    let waiting = 0;
    const wait: Clock['wait'] = async (millis, signal) => {
      waiting += 1;
      await systemClock.wait(millis, signal);
      waiting -= 1;
    };
    await its.build({ inbox: slow, clock: { ...systemClock, wait } });
    const sender = new AbortController();
    const delivery = its.deliver({ signal: sender.signal });
    await expect.poll(() => slow.entered).toBe(1);
    sender.abort();
    await expect(delivery).rejects.toThrow();
    const stored = its.receiver.close().then(() => slow.rows.length);
    // Only the row is left to wait for: the server has closed.
    await expect.poll(() => waiting).toBe(1);
    go();
    expect(await stored).toBe(1);
    expect(waiting).toBe(0);
  });
});
