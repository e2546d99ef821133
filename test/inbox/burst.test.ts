import { expect, test } from 'vitest';
import type { EventId } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { createDrain } from '../../src/inbox/drain.js';
import { ownLane, type Ticks } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed } from '../../src/sync/ports.js';
import { MemoryMirror } from '../sync/support/memory-mirror.js';
import { acme, partsOf, sourceOf } from '../sync/support/parts.js';
import { Truth } from '../sync/support/truth.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';

test('CLIENT-21 drain: a thousand events within one tick cost their source at most two ticks and are all worked', async () => {
  const clock = new VirtualClock();
  const truth = new Truth(() => clock.now());
  truth.publish(1, 100);
  const parts = partsOf(new MemoryMirror(() => clock.now()), clock);
  const options = {
    ...parts.options,
    intervalMillis: 3_600_000,
    idleIntervalMillis: 3_600_000,
    concurrency: 2,
  };
  // Requests take longer than the burst, so its first event finds an idle source and the others a running tick.
  let gate = Promise.resolve();
  let answerRequests = () => {};
  const feed: Feed = {
    page: async (position) => {
      await gate;
      return await truth.page(position);
    },
  };
  const sync = createSync({ ...parts, sources: [sourceOf(feed)], options });
  const ticks: Ticks = {
    nudge: sync.nudge,
    onTick: (listener) =>
      sync.onTick((source, { report, publishedThrough }) =>
        listener(source, { done: report.outcome === 'done', startedAt: report.startedAt, publishedThrough }),
      ),
  };
  const inbox = new MemoryInbox();
  const drain = createDrain({ inbox, ticks, clock, logger: silentLogger, sources: [acme] });
  sync.start();
  await sync.idle();
  let ticked = 0;
  sync.onTick(() => {
    ticked += 1;
  });
  gate = new Promise((resolve) => {
    answerRequests = resolve;
  });

  for (let number = 1; number <= 1000; number += 1) {
    truth.publish(number, number);
    const now = instantFromMillis(clock.now());
    await inbox.accept({
      eventId: `evt_${number}` as EventId,
      installation: 'inst_1',
      event: 'investment.changed',
      company: null,
      investment: null,
      test: false,
      body: '{}',
      lane: ownLane(acme),
      observedAt: now,
      receivedAt: now,
    });
    drain.accepted([acme]);
  }
  await clock.advance(1);
  answerRequests();
  await sync.idle();
  await settled();
  expect(ticked).toBeLessThanOrEqual(2);
  expect(new Set(inbox.states())).toEqual(new Set(['worked']));
  await drain.close();
  await sync.close();
  expect(clock.sleeping).toBe(0);
});
