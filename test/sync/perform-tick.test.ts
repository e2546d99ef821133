import { beforeEach, describe, expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Interruption } from '../../src/runtime/interruption.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { type Feed, type Mirror, nothingApplied } from '../../src/sync/ports.js';
import { runTick } from '../../src/sync/run-tick.js';
import type { TickAsk, TickParts } from '../../src/sync/tick-parts.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, fault, never, partsOf, replaced, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

/* What a tick does beside its pages: where it stops, what it calls itself, what it logs, and what it claims. */

let clock: VirtualClock;
let mirror: MemoryMirror;
let truth: Truth;

beforeEach(() => {
  clock = new VirtualClock();
  mirror = new MemoryMirror(() => clock.now());
  truth = new Truth(() => clock.now());
  for (let number = 1; number <= 7; number += 1) truth.publish(number, number * 100);
});

interface Wish extends Partial<Pick<TickParts, 'logger' | 'onPage'>> {
  readonly ask?: Partial<TickAsk>;
  readonly feed?: Feed;
  readonly over?: Partial<Mirror>;
  readonly signal?: AbortSignal;
}

const tick = ({ ask = {}, feed = truth, over = {}, signal = never, ...parts }: Wish = {}) =>
  runTick(
    sourceOf(feed),
    { trigger: 'timer', ...ask },
    { ...partsOf(replaced(mirror, over), clock), ...parts },
    signal,
  );

/** Leaves a listing whose pages are all stored, to be published. */
async function listed(): Promise<void> {
  await tick({ over: { publishListing: () => Promise.reject(fault('database_busy')) } });
  expect(mirror.of(acme).active).toMatchObject({ kind: 'listing', listing: { final: expect.anything() } });
  truth.asked.length = 0;
}

/** Keeps what is logged at a level that a person reads. */
function lines() {
  const kept: unknown[][] = [];
  const keep = (...line: unknown[]) => void kept.push(line);
  return { kept, logger: { ...silentLogger, warn: keep, error: keep } };
}

describe('a stop', () => {
  test('a tick that was stopped before it began neither begins a listing, nor publishes one, nor deletes', async () => {
    const forbidden = (): never => {
      throw new Error('a stopped tick must not do this');
    };
    const signal = AbortSignal.abort();
    const over = { beginListing: forbidden, publishListing: forbidden, deleteAwaiting: forbidden };
    expect((await tick({ over, signal })).report.outcome).toBe('stopped');
    await listed();
    expect((await tick({ over, signal })).report.outcome).toBe('stopped');
    await tick();
    const accepting = { trigger: 'manual', acceptDeletions: true } as const;
    expect((await tick({ ask: accepting, over, signal })).report.outcome).toBe('stopped');
  });

  test('a tick cut short because another process has its source says so', async () => {
    const over: Partial<Mirror> = {
      addListingPage: async (lease, page) => {
        const stored = await mirror.addListingPage(lease, page);
        mirror.of(acme).fence += 1;
        await clock.advance(10_000);
        return stored;
      },
    };
    expect((await tick({ over })).report).toMatchObject({ outcome: 'failed', code: 'lease_lost', pages: 1 });
  });
});

describe('the mode of a tick', () => {
  test('a tick that begins with the publication of a listing is named after the listing', async () => {
    await listed();
    const { report } = await tick();
    expect(report).toMatchObject({ outcome: 'done', mode: 'listing' });
    expect(truth.asked.map(({ kind }) => kind)[0]).toBe('since');
  });

  test('a tick that begins with a deletion is named after the phase that it found', async () => {
    await tick();
    const stop = new AbortController();
    const over: Partial<Mirror> = {
      deleteAwaiting: async (...args) => {
        stop.abort();
        return await mirror.deleteAwaiting(...args);
      },
    };
    const ask = { trigger: 'manual', acceptDeletions: true } as const;
    const { report } = await tick({ ask, over, signal: stop.signal });
    expect(report).toMatchObject({ outcome: 'stopped', mode: 'delta', pages: 0 });
  });

  test('a sweep that goes on in a second tick is one', async () => {
    const feed: Feed = {
      page: (position) =>
        position.kind === 'since' ? Promise.reject(fault('unreachable')) : truth.page(position),
    };
    await tick({ feed });
    expect((await tick()).report).toMatchObject({ outcome: 'done', mode: 'sweep' });
  });
});

const failing = (): Feed => ({ page: () => Promise.reject(fault('unreachable')) });

describe('the requests of a tick', () => {
  /** Which part of the quota each request of a webhook's tick counts against. */
  async function parts(): Promise<readonly string[]> {
    const used: string[] = [];
    const source = {
      ...sourceOf(truth),
      feed: (kind: string): Feed => ({
        page: (position) => {
          used.push(`${position.kind} ${kind}`);
          return truth.page(position);
        },
      }),
    };
    await runTick(source, { trigger: 'webhook' }, partsOf(mirror, clock), never);
    return used;
  }

  test('a webhook draws on its reserve for changes only, never for a listing or its sweep', async () => {
    expect(await parts()).toEqual([
      'start routine',
      'page routine',
      'page routine',
      'since routine',
      'cursor routine',
      'cursor routine',
    ]);
    expect(await parts()).toEqual(['cursor webhook']);
  });

  test('each request is announced with what it reads and the pages before it', async () => {
    const announced: string[] = [];
    const onPage = (lists: boolean, pages: number) => void announced.push(`${lists} ${pages}`);
    await tick({ onPage });
    expect(announced).toEqual(['true 0', 'true 1', 'true 2', 'false 3', 'false 4', 'false 5']);
  });

  test('a first listing asks once how many records there are, after a hundred pages, and a re-listing does not', async () => {
    for (let number = 1; number <= 400; number += 1) truth.publish(number, number);
    let asked = 0;
    const stored: unknown[] = [];
    const over: Partial<Mirror> = {
      addListingPage: async (lease, page) => {
        const { active } = mirror.of(acme);
        if (page.rowsExpected !== undefined)
          stored.push([page.rowsExpected, active.kind === 'listing' && active.listing.pages]);
        return await mirror.addListingPage(lease, page);
      },
    };
    const expectedRows = async () => {
      asked += 1;
      return 400;
    };
    const run = (ask: Partial<TickAsk>) =>
      runTick(
        { ...sourceOf(truth), expectedRows },
        { trigger: 'timer', ...ask },
        partsOf(replaced(mirror, over), clock),
        never,
      );
    expect((await run({})).report.outcome).toBe('done');
    expect([asked, stored]).toEqual([1, [[400, 99]]]);
    expect((await run({ resync: true })).report).toMatchObject({ outcome: 'done', mode: 'relisting' });
    expect(asked).toBe(1);
  });

  test('a failure to count the records of a first listing is made up for a hundred pages later, once', async () => {
    for (let number = 1; number <= 1_300; number += 1) truth.publish(number, number);
    const stored: unknown[] = [];
    const asked: number[] = [];
    let pages = 0;
    const over: Partial<Mirror> = {
      addListingPage: async (lease, page) => {
        pages += 1;
        if (page.rowsExpected !== undefined) stored.push(page.rowsExpected);
        return await mirror.addListingPage(lease, page);
      },
    };
    const expectedRows = async () => {
      asked.push(pages + 1);
      if (asked.length === 1) throw fault('platform_error');
      return 1_300;
    };
    const source = { ...sourceOf(truth), expectedRows };
    await runTick(source, { trigger: 'timer' }, partsOf(replaced(mirror, over), clock), never);
    expect([asked, stored]).toEqual([[100, 200], [1_300]]);
  });

  test.each<[string, (signal: Interruption) => Promise<number>]>([
    ['does not say how many records there are', () => Promise.reject(fault('platform_error'))],
    [
      'takes longer than ten seconds to say how many records there are',
      (signal) => {
        void clock.advance(10_000);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(fault('stopped')));
        });
      },
    ],
  ])('a listing goes on when the platform %s', async (_, expectedRows) => {
    for (let number = 1; number <= 400; number += 1) truth.publish(number, number);
    const source = { ...sourceOf(truth), expectedRows };
    const { report } = await runTick(source, { trigger: 'timer' }, partsOf(mirror, clock), never);
    expect(report).toMatchObject({ outcome: 'done', code: null, applied: { added: 400 } });
  });

  test('a tick that stops while it reads ahead requests nothing more', async () => {
    const stop = new AbortController();
    const over: Partial<Mirror> = {
      beginListing: async (lease, start) => {
        stop.abort();
        return await mirror.beginListing(lease, start);
      },
    };
    await tick({ over, signal: stop.signal });
    expect(truth.asked).toEqual([]);
  });
});

describe('what a tick claims', () => {
  test('how far the platform had published is known at the end of the feed only', async () => {
    await tick();
    const at = instantFromMillis(clock.now());
    clock.jump(60_000);
    for (let number = 1; number <= 4; number += 1) truth.publish(number, 5);
    // The second of two pages fails, so the time of the first one says nothing about the second.
    let times = 0;
    const broken: Feed = {
      page: (position) => {
        times += 1;
        return times === 2 ? Promise.reject(fault('unreachable')) : truth.page(position);
      },
    };
    expect(await tick({ feed: broken })).toMatchObject({
      report: { outcome: 'failed', pages: 1 },
      publishedThrough: null,
    });
    expect((await tick()).publishedThrough).toBe(instantFromMillis(clock.now()));
    expect(at).not.toBe(instantFromMillis(clock.now()));
  });

  test('the end of a tick that could not be recorded keeps what it reports, unless it was good or a halt', async () => {
    const over = { recordTick: () => Promise.reject(fault('database_full')) };
    const unreachable = await tick({ feed: failing(), over });
    expect(unreachable).toMatchObject({
      report: { outcome: 'failed', code: 'unreachable' },
      recorded: false,
    });
    const forbidden: Feed = { page: () => Promise.reject(fault('forbidden')) };
    const halt = await tick({ feed: forbidden, over });
    expect(halt).toMatchObject({
      report: { code: 'database_full' },
      phase: { kind: 'listing' },
      recorded: false,
      publishedThrough: null,
    });
  });

  test('an unexpected error halts a source; another one keeps the phase before the first', async () => {
    // A mirror that loses its commits makes the tick repeat a step, which is an error of rosterd itself.
    const over: Partial<Mirror> = {
      beginListing: async (lease, start) => ({
        ...(await mirror.beginListing(lease, start)),
        final: 'f' as never,
      }),
      publishListing: async () => ({ applied: nothingApplied, brake: null }),
    };
    const feed: Feed = { page: () => Promise.reject(fault('cursor_expired')) };
    const circling = { ask: { trigger: 'manual', resync: true }, feed, over } as const;
    const haltedFrom = (kind: string) => ({ kind: 'halted', code: 'internal', before: { kind } });
    expect((await tick(circling)).phase).toMatchObject(haltedFrom('empty'));
    expect(mirror.of(acme).halted).toMatchObject(haltedFrom('listing'));
    expect((await tick(circling)).phase).toMatchObject(haltedFrom('listing'));
  });
});

describe('what a tick logs for a person', () => {
  test('that its end could not be recorded, unless the failure of the tick says so', async () => {
    const { kept, logger } = lines();
    const full = fault('database_full');
    const over: Partial<Mirror> = { recordTick: () => Promise.reject(full) };
    await tick({ feed: failing(), over, logger });
    expect(kept.splice(0)).toEqual([[{ error: full }, 'the end of the tick could not be recorded']]);
    const page: Feed = { page: () => Promise.reject(full) };
    await tick({ feed: page, over, logger });
    await tick({ over, logger });
    expect(kept).toEqual([]);
    const odd = new TypeError('made up');
    await tick({
      over: { recordTick: () => Promise.reject(odd) },
      ask: { trigger: 'timer', checkGrant: true },
      logger,
    });
    expect(kept).toEqual([[{ error: odd }, 'the end of the tick could not be recorded']]);
  });

  test('an unexpected error, and no fault with a code of its own', async () => {
    const { kept, logger } = lines();
    await tick({ feed: failing(), logger });
    expect(kept).toEqual([]);
    await tick({ feed: { page: () => Promise.reject(new TypeError('made up')) }, logger });
    expect(kept).toEqual([[{ error: expect.any(TypeError) }, 'a tick failed with an unexpected error']]);
  });

  test('a mirror that could not be opened for an unexpected reason, and no other', async () => {
    const { kept, logger } = lines();
    await tick({ over: { open: () => Promise.reject(fault('database_busy')) }, logger });
    expect(kept).toEqual([]);
    await tick({ over: { open: () => Promise.reject(new TypeError('made up')) }, logger });
    expect(kept).toHaveLength(1);
  });

  test('rows that await deletion, once, and a confirmed number that is not theirs', async () => {
    for (let number = 1; number <= 100; number += 1) truth.publish(number, 5);
    await tick();
    for (let number = 1; number <= 60; number += 1) truth.publish(number, null);
    truth.expire();
    const { kept, logger } = lines();
    await tick({ logger });
    expect(kept).toEqual([
      [
        { count: 60, rows: 100, hint: 'rosterd sync --accept-deletions' },
        expect.stringContaining('await deletion'),
      ],
    ]);
    kept.length = 0;
    await tick({ ask: { trigger: 'manual', acceptAwaiting: 3 }, logger });
    expect(kept).toEqual([[{ count: 3 }, expect.stringContaining('not the confirmed one')]]);
    kept.length = 0;
    await tick({ ask: { trigger: 'manual', acceptAwaiting: 60 }, logger });
    expect(kept).toEqual([]);
  });
});

test('the lease is not renewed any more once the last page is being committed', async () => {
  await tick();
  truth.publish(3, 999);
  let renewed = 0;
  const over: Partial<Mirror> = {
    renew: async () => {
      renewed += 1;
    },
    applyPage: async (...args) => {
      await clock.advance(35_000);
      await settled();
      return await mirror.applyPage(...args);
    },
  };
  expect((await tick({ over })).report.outcome).toBe('done');
  expect(renewed).toBe(0);
  // While a page is committed that is not the last one, the lease is kept.
  for (let number = 1; number <= 4; number += 1) truth.publish(number, 5);
  await tick({ over });
  expect(renewed).toBeGreaterThan(0);
});
