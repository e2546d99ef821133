import { beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { instantFromMillis, millisOf } from '../../src/domain/instant.js';
import type { Cursor, Position } from '../../src/domain/position.js';
import type { Interruption } from '../../src/runtime/interruption.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { type Feed, type Mirror, nothingApplied, type ReceivedPage } from '../../src/sync/ports.js';
import { runTick } from '../../src/sync/run-tick.js';
import type { TickAsk } from '../../src/sync/tick-parts.js';
import { identity } from '../store/samples.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, fault, never, partsOf, replaced, sourceOf } from './support/parts.js';
import { idOf, received, Truth } from './support/truth.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

let clock: VirtualClock;
let mirror: MemoryMirror;
let truth: Truth;

beforeEach(() => {
  clock = new VirtualClock();
  mirror = new MemoryMirror(() => clock.now());
  truth = new Truth(() => clock.now());
  for (let number = 1; number <= 7; number += 1) truth.publish(number, number * 100);
});

const tick = (
  ask: Partial<TickAsk> = {},
  feed: Feed = truth,
  { signal = never, port = mirror as Mirror, fingerprint = 'f1', isFollowed = false } = {},
) => {
  const source = sourceOf(feed, acme, fingerprint);
  const identity = { ...source.identity, isFollowed };
  return runTick({ ...source, identity }, { trigger: 'timer', ...ask }, partsOf(port, clock), signal);
};

const kinds = () => truth.asked.map(({ kind }) => kind);
const rows = () =>
  Object.fromEntries([...mirror.of(acme).rows].map(([id, row]) => [id, row.committed_cents]));
const publishedRows = () => Object.fromEntries(truth.current());

/** The truth, with a callback before each request. */
const truthWith = (act: (position: Position, times: number) => void | Promise<void>): Feed => {
  let times = 0;
  return {
    page: async (position) => {
      times += 1;
      await act(position, times);
      return await truth.page(position);
    },
  };
};

const mirrorWith = (over: Partial<Mirror>): Mirror => replaced(mirror, over);

describe('run tick: the expected position', () => {
  const at = (cursor: string): Position => ({ kind: 'cursor', cursor: cursor as Cursor });
  const end = () => {
    const { active } = mirror.of(acme);
    return active.kind === 'following' ? active.cursor : '';
  };

  beforeEach(async () => {
    await tick();
    truth.publish(3, 999);
    truth.asked.length = 0;
  });

  test('the expected position is requested while the mirror is being opened, and only once', async () => {
    const order: string[] = [];
    const feed = truthWith(() => void order.push('asked'));
    const port = mirrorWith({
      open: (source, holder) => {
        order.push('opened');
        return mirror.open(source, holder);
      },
    });
    const { report } = await tick({ expected: at(end()) }, feed, { port });
    expect(order).toEqual(['asked', 'opened']);
    expect(report).toMatchObject({ outcome: 'done', pages: 1 });
    expect(rows()).toEqual(publishedRows());
  });

  test('the page at the expected position is dropped when another process has read on', async () => {
    const before = at(end());
    await tick();
    truth.publish(4, 888);
    truth.asked.length = 0;
    const stands = at(end());
    const { report } = await tick({ expected: before });
    expect(truth.asked).toEqual([before, stands]);
    expect(report).toMatchObject({ outcome: 'done', pages: 1 });
    expect(rows()).toEqual(publishedRows());
  });

  test('the request for the expected position is aborted when the mirror cannot be opened', async () => {
    let signalled: Interruption | undefined;
    const feed: Feed = {
      page: (_position, signal) => {
        signalled = signal;
        return new Promise(() => {});
      },
    };
    const port = mirrorWith({ open: () => Promise.reject(fault('lease_lost')) });
    const { report } = await tick({ expected: at(end()) }, feed, { port });
    expect(report).toMatchObject({ outcome: 'failed', code: 'lease_lost' });
    expect(signalled?.aborted).toBe(true);
  });

  test('a lease lost at the first write looks like a source that could not be opened, and nothing is recorded', async () => {
    const recorded: string[] = [];
    const lost = () => Promise.reject(fault('lease_lost'));
    const port = mirrorWith({
      open: async (source, holder, options) => ({
        ...(await mirror.open(source, holder)),
        leaseLater: options?.leaseLater === true,
      }),
      applyPage: lost,
      recordTick: async () => void recorded.push('tick'),
    });
    const contested = await tick({ expected: at(end()) }, truth, { port });
    expect(contested).toMatchObject({ phase: null, recorded: false, report: { code: 'lease_lost' } });
    expect(recorded).toEqual([]);
    const taken = await tick({}, truth, { port });
    expect(taken).toMatchObject({ phase: { kind: 'following' }, report: { code: 'lease_lost' } });
    expect(recorded).toEqual(['tick']);
  });

  test('the expected position is not requested by a stopped tick', async () => {
    await tick({ expected: at(end()) }, truth, { signal: AbortSignal.abort() });
    expect(truth.asked).toEqual([]);
  });

  test('an expired expected position leads to a new listing', async () => {
    const gone = truthWith((_position, times) => {
      if (times === 1) throw fault('cursor_expired');
    });
    const { report } = await tick({ expected: at(end()) }, gone);
    expect(report).toMatchObject({ outcome: 'done', mode: 'relisting' });
    expect(kinds()[0]).toBe('start');
    expect(rows()).toEqual(publishedRows());
  });
});

describe('run tick: a bootstrap', () => {
  test('PAGE-01 a bootstrap lists page by page, sweeps, and follows from the stored position', async () => {
    const { report, publishedThrough } = await tick({ trigger: 'start' });
    expect(report).toMatchObject({ outcome: 'done', mode: 'listing', trigger: 'start', code: null });
    expect(kinds()).toEqual(['start', 'page', 'page', 'since', 'cursor', 'cursor']);
    expect(rows()).toEqual(publishedRows());
    expect(mirror.of(acme).active.kind).toBe('following');
    expect(publishedThrough).toBe(instantFromMillis(clock.now()));
    expect(mirror.of(acme).ticks).toEqual([report]);
  });

  test('a bootstrap shows no rows until it is complete, then all of them', async () => {
    const seen: number[] = [];
    mirror.onCommit = ({ rows }) => seen.push(rows.size);
    await tick();
    expect(seen.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(new Set(seen.slice(4))).toEqual(new Set([7]));
  });

  test('a bootstrap goes on from the last committed page after a failure', async () => {
    const broken = truthWith((_position, times) => {
      if (times === 3) throw fault('unreachable');
    });
    expect((await tick({}, broken)).report).toMatchObject({
      outcome: 'failed',
      code: 'unreachable',
      pages: 2,
    });
    truth.asked.length = 0;
    expect((await tick()).report.outcome).toBe('done');
    expect(kinds()[0]).toBe('page');
    expect(rows()).toEqual(publishedRows());
  });

  test('INV-05 a record withdrawn behind the reader while listing is gone afterwards', async () => {
    truth.freedom = { ...truth.freedom, finalCursor: 'end' };
    const changing = truthWith((_position, times) => {
      clock.jump(1000);
      if (times === 3) {
        truth.publish(1, null);
        truth.publish(2, 999);
      }
    });
    await tick({}, changing);
    expect(rows()).toEqual(publishedRows());
    expect(rows()).not.toHaveProperty('inv_0001');
  });

  test('a bootstrap reads one page ahead while it writes one', async () => {
    let askedWhileWriting = 0;
    const port = mirrorWith({
      addListingPage: async (lease, page) => {
        const asked = truth.asked.length;
        await settled();
        askedWhileWriting += truth.asked.length - asked;
        return await mirror.addListingPage(lease, page);
      },
    });
    // A request takes a while, so the counted requests were in progress during a write.
    const feed = truthWith(async () => {
      await settled();
    });
    await tick({}, feed, { port });
    expect(askedWhileWriting).toBe(2);
    expect(kinds().filter((kind) => kind === 'page').length, 'no page twice').toBe(2);
  });

  test('a bootstrap requests the next page before it parses and writes the current one', async () => {
    const steps: string[] = [];
    const feed: Feed = {
      page: async (position) => {
        // As many promises as the client has layers.
        for (let layer = 0; layer < 50; layer += 1) await null;
        steps.push('ask');
        // And a response takes a while.
        await settled();
        const page = await truth.page(position);
        return {
          ...page,
          parse: () => {
            if (steps.at(-1) !== 'parse') steps.push('parse');
            return page.parse();
          },
        };
      },
    };
    const port = mirrorWith({
      addListingPage: (lease, page) => {
        steps.push('write');
        return mirror.addListingPage(lease, page);
      },
    });
    await tick({}, feed, { port });
    const whole = ['ask', 'parse', 'write'];
    expect(steps.slice(0, 9)).toEqual(['ask', ...whole, ...whole, 'parse', 'write']);
  });

  test('a delivery that arrives while a page is written is stored before the next page', async () => {
    const steps: string[] = [];
    const port = mirrorWith({
      addListingPage: (lease, page) => {
        steps.push('page');
        // Read from its socket in one turn of the event loop, committed in the next one.
        setImmediate(() => setImmediate(() => steps.push('delivery')));
        return mirror.addListingPage(lease, page);
      },
    });
    await tick({}, truth, { port });
    expect(steps.slice(0, 3)).toEqual(['page', 'delivery', 'page']);
  });

  test('a failed commit drops the page read ahead and aborts its request', async () => {
    const cut: boolean[] = [];
    const feed: Feed = {
      page: (position, signal) => {
        if (position.kind === 'start') return truth.page(position);
        return new Promise<ReceivedPage>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            cut.push(true);
            reject(fault('stopped'));
          });
        });
      },
    };
    const port = mirrorWith({ addListingPage: () => Promise.reject(fault('database_busy')) });
    const { report } = await tick({}, feed, { port });
    expect(report).toMatchObject({ outcome: 'failed', code: 'database_busy' });
    expect(cut).toEqual([true]);
    expect(mirror.of(acme).active).toMatchObject({ kind: 'listing', listing: { pages: 0 } });
  });
});

describe('run tick: following', () => {
  beforeEach(async () => {
    await tick();
    truth.asked.length = 0;
    clock.jump(60_000);
  });

  test('INV-09 CLIENT-05 following reads only changes, and stores the position of an empty page too', async () => {
    const first = mirror.of(acme).active;
    expect((await tick()).report).toMatchObject({ mode: 'delta', pages: 1, outcome: 'done' });
    const second = mirror.of(acme).active;
    expect(second).not.toEqual(first);
    truth.publish(3, null);
    truth.publish(9, 1);
    const { report } = await tick();
    expect(report.applied).toMatchObject({ added: 1, removed: 1 });
    expect(truth.asked.at(-1)).toEqual({
      kind: 'cursor',
      cursor: second.kind === 'following' && second.cursor,
    });
    expect(rows()).toEqual(publishedRows());
  });

  test('INV-11 CLIENT-09 a 410 relists without cursor or time; readers keep every row meanwhile', async () => {
    clock.jump(48 * 3_600_000);
    truth.publish(1, null);
    truth.publish(8, 800);
    truth.expire();
    const sizes = new Set<number>();
    mirror.onCommit = ({ rows }) => sizes.add(rows.size);
    const { report } = await tick();
    expect(report).toMatchObject({ outcome: 'done', mode: 'relisting' });
    expect(kinds().slice(0, 3)).toEqual(['cursor', 'start', 'page']);
    expect(rows()).toEqual(publishedRows());
    expect(sizes).toEqual(new Set([7]));
    expect(report.applied).toMatchObject({ added: 1, removed: 1 });
  });

  test('a resync relists a healthy source', async () => {
    expect((await tick({ trigger: 'manual', resync: true })).report).toMatchObject({ mode: 'relisting' });
    expect(kinds()[0]).toBe('start');
  });

  test('changed filters halt the source until a resync adopts them', async () => {
    const changed = { fingerprint: 'f2' };
    const { report, phase } = await tick({}, truth, changed);
    expect(report).toMatchObject({ outcome: 'failed', code: 'filters_changed' });
    expect(report.message).toMatch(
      /account, realm or filters of this source, or platform\.baseUrl, .*--resync/,
    );
    expect(phase?.kind).toBe('halted');
    expect(truth.asked).toEqual([]);
    expect((await tick({ trigger: 'manual', resync: true }, truth, changed)).report.outcome).toBe('done');
    expect((await tick({}, truth, changed)).report).toMatchObject({ outcome: 'done', mode: 'delta' });
  });

  test('a source that relists when its account changed does so once, also when the first try fails', async () => {
    const changed = { fingerprint: 'f2', isFollowed: true };
    truth.publish(9, 900);
    const broken = truthWith((_position, times) => {
      if (times === 2) throw fault('unreachable');
    });
    expect((await tick({}, broken, changed)).report.outcome).toBe('failed');
    expect((await tick({}, truth, changed)).report).toMatchObject({ outcome: 'done', mode: 'relisting' });
    expect(rows()).toEqual(publishedRows());
    expect((await tick({}, truth, changed)).report).toMatchObject({ outcome: 'done', mode: 'delta' });
  });
});

test('a relisting that would delete too much is published without the deletions, and the source keeps following', async () => {
  for (let number = 1; number <= 100; number += 1) truth.publish(number, 5);
  truth.freedom = { ...truth.freedom, perPage: 100 };
  await tick();
  for (let number = 1; number <= 60; number += 1) truth.publish(number, null);
  truth.expire();
  truth.publish(101, 7);
  expect((await tick()).report).toMatchObject({
    outcome: 'done',
    code: null,
    mode: 'relisting',
    applied: { added: 1, removed: 0 },
  });
  expect(mirror.of(acme).active.kind).toBe('following');
  expect(mirror.of(acme).rows.size).toBe(101);
  expect(mirror.of(acme).awaiting.size).toBe(60);
  truth.publish(102, 8);
  truth.publish(1, 9);
  expect((await tick()).report).toMatchObject({ outcome: 'done', applied: { added: 1, changed: 1 } });
  expect(mirror.of(acme).awaiting.size, 'one of them came back').toBe(59);
  truth.asked.length = 0;
  expect((await tick({ trigger: 'manual', acceptDeletions: true })).report).toMatchObject({
    outcome: 'done',
    mode: 'delta',
    applied: { removed: 59 },
  });
  expect(kinds(), 'nothing is listed again').toEqual(['cursor']);
  expect(rows()).toEqual(publishedRows());
});

test('a confirmed number of rows deletes exactly that many, or nothing', async () => {
  for (let number = 1; number <= 100; number += 1) truth.publish(number, 5);
  truth.freedom = { ...truth.freedom, perPage: 100 };
  await tick();
  for (let number = 1; number <= 60; number += 1) truth.publish(number, null);
  truth.expire();
  truth.publish(101, 7);
  const resync = await tick({ trigger: 'manual', resync: true, acceptAwaiting: 3 });
  expect(resync.report).toMatchObject({ outcome: 'done', applied: { removed: 0 } });
  expect([resync.awaitingDeleted, mirror.of(acme).awaiting.size]).toEqual([undefined, 60]);
  const stale = await tick({ trigger: 'manual', acceptAwaiting: 3 });
  expect(stale.report).toMatchObject({ outcome: 'done', applied: { removed: 0 } });
  expect([stale.awaitingDeleted, mirror.of(acme).awaiting.size]).toEqual([undefined, 60]);
  const agreed = await tick({ trigger: 'manual', acceptAwaiting: 60 });
  expect(agreed.report.applied.removed).toBe(60);
  expect([agreed.awaitingDeleted, mirror.of(acme).awaiting.size]).toEqual([true, 0]);
});

test('accepting deletions together with a resync lets that listing delete every row it does not name', async () => {
  for (let number = 1; number <= 100; number += 1) truth.publish(number, 5);
  await tick();
  for (let number = 1; number <= 60; number += 1) truth.publish(number, null);
  const ask = { trigger: 'manual', resync: true, acceptDeletions: true } as const;
  expect((await tick(ask)).report).toMatchObject({ outcome: 'done', applied: { removed: 60 } });
  expect(mirror.of(acme).awaiting.size).toBe(0);
});

describe('run tick: a grant that comes back', () => {
  const asking = (granted: boolean) =>
    runTick(
      { ...sourceOf(truth, acme, 'f1'), mayReadIdentity: async () => granted },
      { trigger: 'timer', checkGrant: true },
      partsOf(mirror, clock),
      never,
    );

  test('a grant that comes back is relisted by the next tick, once', async () => {
    await tick();
    expect((await asking(true)).grant, 'it was there all the time').toBe('followed');
    await asking(false);
    expect((await asking(true)).grant).toBe('regained');
    expect((await tick()).report.mode).toBe('relisting');
    expect((await asking(true)).grant).toBe('followed');
    expect((await tick()).report.mode).toBe('delta');
  });
});

test('the grant is not asked for by a tick whose own listing showed identity in every record', async () => {
  let asked = 0;
  const named = (without: number | null): Feed => ({
    page: async (position) => {
      const page = await truth.page(position);
      return received({
        ...page,
        items: page.items.map((item) =>
          item.kind === 'record' && item.investment.id !== idOf(without ?? 0)
            ? { ...item, identity: identity('Ann') }
            : item,
        ),
      });
    },
  });
  const listing = (feed: Feed) => {
    const mayReadIdentity = async () => {
      asked += 1;
      return true;
    };
    const source = { ...sourceOf(feed, acme, 'f1'), mayReadIdentity };
    const ask = { trigger: 'manual', checkGrant: true, resync: true } as const;
    return runTick(source, ask, partsOf(mirror, clock), never);
  };
  for (let number = 1; number <= 4; number += 1) truth.publish(number, 5);
  expect((await listing(named(null))).grant).toBe('followed');
  expect(asked).toBe(0);
  await listing(named(2));
  expect(asked, 'one record came without').toBe(1);
});

describe('run tick: faults', () => {
  test("CLIENT-14 a rate limit keeps the tick's progress and reports when it ends", async () => {
    const until = clock.now() + 3_600_000;
    const limited = truthWith((_position, times) => {
      if (times === 2) throw fault('rate_limited', until);
    });
    const { report } = await tick({}, limited);
    expect(report).toMatchObject({
      outcome: 'waiting',
      code: 'rate_limited',
      retryAt: instantFromMillis(until),
    });
    expect(mirror.of(acme).active).toMatchObject({ kind: 'listing', listing: { pages: 1 } });
  });

  test('a 429 that asks for no wait is a failure that is retried later each time, but never before its shortest wait', async () => {
    const retryAt = instantFromMillis(clock.now() + 4_000);
    const limited = new Fault('rate_limited', 'made up', { retryAt, waitUnstated: true, hint: 'do this' });
    const feed: Feed = { page: () => Promise.reject(limited) };
    const waits: number[] = [];
    for (const failures of [0, 1, 3, 6, 50]) {
      const { report } = await tick({ failures }, feed);
      expect(report).toMatchObject({
        outcome: 'failed',
        code: 'contract_broken',
        message: 'made up (do this)',
      });
      waits.push(Date.parse(report.retryAt ?? '') - clock.now());
    }
    expect(waits).toEqual([...waits].sort((one, other) => one - other));
    expect(waits[0]).toBeGreaterThanOrEqual(4_000);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(300_000);
  });

  test('CLIENT-13 CLIENT-12 a fault that needs an operator halts the source with code, message and hint', async () => {
    for (const code of ['unauthorized', 'reauthorize', 'forbidden', 'refused'] as const) {
      const feed: Feed = { page: () => Promise.reject(fault(code)) };
      const { phase, report } = await tick({ trigger: 'manual' }, feed);
      expect(report).toMatchObject({ outcome: 'failed', code, message: 'made up (do this)' });
      expect(phase).toMatchObject({ kind: 'halted', code, message: 'made up (do this)' });
    }
    expect((await tick({ trigger: 'manual' })).report.outcome).toBe('done');
    expect(mirror.of(acme).halted).toBeNull();
  });

  test('a retry waits longer the more ticks failed before', async () => {
    const feed: Feed = { page: () => Promise.reject(fault('platform_error')) };
    const waits: number[] = [];
    for (const failures of [0, 3, 6, 50]) {
      const { report } = await tick({ failures }, feed);
      waits.push(Date.parse(report.retryAt ?? '') - clock.now());
    }
    expect(waits[0]).toBeGreaterThanOrEqual(2500);
    expect([...waits].sort((a, b) => a - b)).toEqual(waits);
    expect(waits.at(-1)).toBeLessThanOrEqual(600_000);
  });

  test('a stuck cursor is a broken contract after at most three requests, and none of its pages is kept', async () => {
    let asked = 0;
    const stuck: Feed = {
      page: async () => {
        asked += 1;
        return received({
          mode: 'listing',
          size: 0,
          items: [],
          hasMore: true,
          next: 'same',
          publishedThrough: null,
        });
      },
    };
    const { report } = await tick({}, stuck);
    expect(report).toMatchObject({ outcome: 'failed', code: 'contract_broken' });
    expect(report.message).toContain('stuck cursor');
    expect(asked).toBeLessThanOrEqual(3);
  });

  test('a feed of empty pages only is given up after a bounded number', async () => {
    let asked = 0;
    const empty: Feed = {
      page: async () => {
        asked += 1;
        return received({
          mode: 'listing',
          size: 0,
          items: [],
          hasMore: true,
          next: `n${asked}`,
          publishedThrough: null,
        });
      },
    };
    expect((await tick({}, empty)).report).toMatchObject({ outcome: 'failed', code: 'contract_broken' });
    expect(asked).toBeLessThanOrEqual(103);
  });

  test('a platform that breaks the contract is retried soon, then later and later', async () => {
    const waits: number[] = [];
    const stuck: Feed = {
      page: async () =>
        received({
          mode: 'delta',
          size: 0,
          items: [],
          hasMore: false,
          next: 'n',
          publishedThrough: null,
        }),
    };
    for (const failures of [0, 1, 2, 5, 20]) {
      const { report } = await tick({ failures }, stuck);
      expect(report.code).toBe('contract_broken');
      waits.push(millisOf(report.retryAt ?? instantFromMillis(0)) - clock.now());
    }
    expect(waits).toEqual([...waits].sort((one, other) => one - other));
    expect(waits[0]).toBeLessThanOrEqual(5_000);
    expect(waits[0]).toBeGreaterThanOrEqual(2_500);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(300_000);
  });

  test('a stop reaches a publication under way', async () => {
    const stop = new AbortController();
    const port = mirrorWith({
      publishListing: async (_lease, _final, _brake, signal) => {
        stop.abort();
        throw fault(signal?.aborted === true ? 'stopped' : 'internal');
      },
    });
    const { report } = await tick({}, truth, { port, signal: stop.signal });
    expect(report).toMatchObject({ outcome: 'stopped', mode: 'listing' });
  });

  test('a decision that repeats a step ends the tick as an internal error instead of looping', async () => {
    // A mirror that loses its commits makes the engine repeat the same step.
    let begun = 0;
    const forgetful = mirrorWith({
      beginListing: async (lease, start) => {
        begun += 1;
        if (begun > 100) throw new Error('it never ended');
        return { ...(await mirror.beginListing(lease, start)), final: 'f' as never, pages: 0 };
      },
      publishListing: async () => ({ applied: nothingApplied, brake: null }),
    });
    const circling: Feed = {
      page: () => Promise.reject(fault('cursor_expired')),
    };
    const { report, phase } = await tick({ resync: true }, circling, { port: forgetful });
    expect(report).toMatchObject({ outcome: 'failed', code: 'internal' });
    expect(phase).toMatchObject({ kind: 'halted', code: 'internal' });
    expect(begun).toBeLessThan(20);
  });

  test.each([
    [59, 0],
    [60, 1],
  ])('a position %i days old logs %i warnings with the day it expires', async (days, times) => {
    const warnings: unknown[] = [];
    const cursorSavedAt = instantFromMillis(clock.now() - days * 86_400_000);
    const port = mirrorWith({
      open: async (source, holder) => ({ ...(await mirror.open(source, holder)), cursorSavedAt }),
    });
    const logger = { ...silentLogger, warn: (...line: unknown[]) => warnings.push(line) };
    await runTick(sourceOf(truth), { trigger: 'timer' }, { ...partsOf(port, clock), logger }, never);
    expect(warnings).toHaveLength(times);
    if (times > 0)
      expect(warnings[0]).toEqual([
        { until: instantFromMillis(clock.now() + 30 * 86_400_000) },
        expect.stringContaining('position in the feed is old'),
      ]);
  });

  test('an internal error halts its source, and its text is not shown', async () => {
    const feed: Feed = { page: () => Promise.reject(new TypeError('cannot read name of Ada Lovelace')) };
    const { report } = await tick({}, feed);
    expect(report).toMatchObject({ outcome: 'failed', code: 'internal' });
    expect(JSON.stringify(report)).not.toContain('Ada');
  });

  test('a mirror that cannot be opened is a failed tick, not a crash', async () => {
    const port = mirrorWith({ open: () => Promise.reject(fault('database_busy')) });
    const result = await tick({}, truth, { port });
    expect(result.report).toMatchObject({ outcome: 'failed', code: 'database_busy', mode: 'none' });
    expect(result.phase).toBeNull();
  });

  test('a mirror that may not be written to: the report says what to do, since no halt can be recorded', async () => {
    const refused = () =>
      Promise.reject(new Fault('database_unusable', 'mirror.db (EACCES)', { hint: 'chmod' }));
    const expected = { outcome: 'failed', code: 'database_unusable', message: 'mirror.db (EACCES) (chmod)' };
    for (const port of [
      mirrorWith({ open: refused }),
      mirrorWith({ applyPage: refused, recordTick: refused }),
    ])
      expect((await tick({}, truth, { port })).report).toMatchObject(expected);
  });

  test('a tick whose end could not be recorded does not look healthy', async () => {
    const port = mirrorWith({ recordTick: () => Promise.reject(fault('database_full')) });
    // The grant is checked after the last page, so the end of the tick is a commit of its own.
    const { report, publishedThrough } = await tick({ checkGrant: true }, truth, { port });
    expect(report).toMatchObject({ outcome: 'failed', code: 'database_full' });
    expect(report.retryAt).not.toBeNull();
    expect(publishedThrough).toBeNull();
  });

  test('the commit of the last page also ends the tick; without it the tick does not count as done', async () => {
    await tick();
    const ends: string[] = [];
    const counting = mirrorWith({
      recordTick: async () => void ends.push('recorded'),
      release: async () => void ends.push('released'),
    });
    const { report } = await tick({}, truth, { port: counting });
    expect(ends).toEqual([]);
    expect(mirror.of(acme).ticks.at(-1)).toEqual(report);
    expect(mirror.of(acme).holder).toBeNull();
    const failing = mirrorWith({ applyPage: () => Promise.reject(fault('database_full')) });
    const { report: failed } = await tick({}, truth, { port: failing });
    expect(failed).toMatchObject({ outcome: 'failed', code: 'database_full' });
    expect(mirror.of(acme).ticks.at(-1)).toEqual(failed);
    expect(mirror.of(acme).holder).toBeNull();
  });

  test('a halt that could not be recorded does not count: the source is retried until the halt is visible', async () => {
    const port = mirrorWith({ recordTick: () => Promise.reject(fault('database_full')) });
    const feed: Feed = { page: () => Promise.reject(fault('forbidden')) };
    const { report, phase } = await tick({}, feed, { port });
    expect(report).toMatchObject({ outcome: 'failed', code: 'database_full' });
    expect(report.retryAt).not.toBeNull();
    expect(phase?.kind).not.toBe('halted');
  });
});

describe('run tick: a platform whose positions always expire', () => {
  async function virtualDay(feed: Feed): Promise<void> {
    const end = clock.now() + 24 * 3_600_000;
    for (let turns = 0; clock.now() < end; turns += 1) {
      expect(turns).toBeLessThan(2000);
      const { report } = await tick({}, feed);
      const wait = report.retryAt === null ? 60_000 : Date.parse(report.retryAt) - clock.now();
      clock.jump(Math.max(1000, wait));
    }
  }
  const starts = () => kinds().filter((kind) => kind === 'start').length;
  const expired = () => fault('cursor_expired');

  test('positions that expire during the listing cause about ten listings a day', async () => {
    await virtualDay(
      truthWith((position) => {
        if (position.kind === 'page') throw expired();
      }),
    );
    expect(starts()).toBeGreaterThan(5);
    expect(starts()).toBeLessThanOrEqual(10);
    expect(
      mirror.of(acme).ticks.every(({ outcome }) => outcome !== 'done'),
      'never healthy',
    ).toBe(true);
  });

  test('positions that expire after every listing cause about ten listings a day, and the rows stay', async () => {
    await virtualDay(
      truthWith((position) => {
        if (position.kind === 'since' || position.kind === 'cursor') throw expired();
      }),
    );
    expect(starts()).toBeLessThanOrEqual(10);
    expect(rows()).toEqual(publishedRows());
  });

  test('positions that expire for every request cause about ten requests a day', async () => {
    let asked = 0;
    await virtualDay({
      page: () => {
        asked += 1;
        return Promise.reject(expired());
      },
    });
    expect(asked).toBeLessThanOrEqual(10);
  });

  test("an expired low mark of a quiet source is replaced by the listing's final position", async () => {
    const feed = truthWith((position) => {
      if (position.kind === 'since') throw expired();
    });
    expect((await tick({}, feed)).report.outcome).toBe('done');
    expect(rows()).toEqual(publishedRows());
  });
});

describe('run tick: stopping', () => {
  test('a stopped tick finishes the page being written, then ends', async () => {
    const stop = new AbortController();
    const port = mirrorWith({
      addListingPage: async (lease, page) => {
        stop.abort();
        await settled();
        return await mirror.addListingPage(lease, page);
      },
    });
    const { report } = await tick({}, truth, { port, signal: stop.signal });
    expect(report).toMatchObject({ outcome: 'stopped', pages: 1 });
    expect(mirror.of(acme).active).toMatchObject({ kind: 'listing', listing: { pages: 1 } });
    expect(mirror.of(acme).ticks).toEqual([report]);
    expect(mirror.of(acme).holder, 'the lease was given back').toBeNull();
  });

  test('a tick stopped before its first request sends none', async () => {
    const { report } = await tick({}, truth, { signal: AbortSignal.abort() });
    expect(report.outcome).toBe('stopped');
    expect(truth.asked).toEqual([]);
  });
});

describe('run tick: the lease', () => {
  test('the lease is renewed during a long tick', async () => {
    let renewed = 0;
    const port = mirrorWith({
      renew: async (lease) => {
        renewed += 1;
        await mirror.renew(lease);
      },
    });
    let go = () => {};
    const slow = truthWith(
      (_position, times) =>
        new Promise<void>((resolve) => {
          if (times === 1) go = resolve;
          else resolve();
        }),
    );
    const running = tick({}, slow, { port });
    await clock.advance(35_000);
    go();
    expect((await running).report.outcome).toBe('done');
    expect(renewed).toBe(3);
    expect(clock.sleeping).toBe(0);
  });

  const hanging = (): Feed => ({
    page: (_position, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(fault('stopped')));
      }),
  });

  test('losing the lease ends the tick and reports why', async () => {
    const running = tick({}, hanging());
    await settled();
    mirror.of(acme).fence += 1;
    await clock.advance(10_000);
    expect((await running).report).toMatchObject({ outcome: 'failed', code: 'lease_lost' });
    expect(clock.sleeping).toBe(0);
  });

  test('losing the lease while a halt is retried leaves open in which state the source is', async () => {
    await tick({}, { page: () => Promise.reject(fault('unauthorized')) });
    expect(mirror.of(acme).halted).not.toBeNull();
    const running = tick({ trigger: 'manual' }, hanging());
    await settled();
    mirror.of(acme).fence += 1;
    await clock.advance(10_000);
    expect(await running).toMatchObject({ phase: null, recorded: false, report: { code: 'lease_lost' } });
  });

  test('a retry of a halted source that fails after another process took it leaves open in which state it is', async () => {
    await tick({}, { page: () => Promise.reject(fault('unauthorized')) });
    const taken: Feed = {
      page: () => {
        mirror.of(acme).fence += 1;
        return Promise.reject(fault('unreachable'));
      },
    };
    expect(await tick({ trigger: 'manual' }, taken)).toMatchObject({
      ...{ phase: null, recorded: false, report: { code: 'unreachable' } },
    });
  });

  test("another holder's lease keeps this process out without a request", async () => {
    await tick();
    mirror.of(acme).holder = 'somebody else';
    truth.asked.length = 0;
    expect((await tick()).report).toMatchObject({ outcome: 'failed', code: 'lease_lost' });
    expect(truth.asked).toEqual([]);
  });
});
