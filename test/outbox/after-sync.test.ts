import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { type AfterSyncParts, step } from '../../src/outbox/after-sync.js';
import type { DueNotice, Sent } from '../../src/outbox/ports.js';
import { messageId } from '../../src/outbox/send-http.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { AfterSyncHooks } from '../../src/store/after-sync.js';
import { fillWithCanaries, showsPeople } from '../store/support/canaries.js';
import { databases, type Row, type WorkingMirror } from '../store/support/databases.js';
import { StandingClock, sourceRow } from '../store/support/mirror.js';

const delivered: Sent = { kind: 'delivered' };
const failed: Sent = { kind: 'failed', why: 'ended with code 1' };
const never = new AbortController().signal;

/** A mirror with two sources, a hook, and a receiver with scripted answers. */
async function openHook(mirror: WorkingMirror, sources: readonly string[] | null = null) {
  const clock = new StandingClock();
  let seq = 0;
  const change = async (kind: string, more: Row = {}) => {
    seq += 1;
    const at = new Date(clock.now()).toISOString();
    await mirror.insert('change_rows', { seq, source_no: 1, kind, id: `inv_${seq}`, at, ...more });
  };
  await mirror.insert('sources', sourceRow(1, { name: 'acme', rows_held: 12 }));
  await mirror.insert('sources', sourceRow(2, { name: 'globex', rows_held: 3 }));
  const sent: DueNotice[] = [];
  const answers: Sent[] = [];
  const failures: string[] = [];
  let successes = 0;
  const parts: AfterSyncParts = {
    hook: {
      name: 'dbt',
      sources,
      delayMillis: 10_000,
      send: async (message) => {
        sent.push(message);
        return answers.shift() ?? delivered;
      },
    },
    store: new AfterSyncHooks(mirror.connection),
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    leads: () => true,
    onFailure: (why) => void failures.push(why),
    onSuccess: () => {
      successes += 1;
    },
  };
  /** Makes steps until the hook waits, and returns for how long. */
  const run = async (first = false): Promise<number> => {
    let wait = await step(parts, first, never);
    while (wait === 0) wait = await step(parts, false, never);
    return wait;
  };
  const bodies = () => sent.map(({ body }) => JSON.parse(body));
  const rows = () =>
    mirror.rows('SELECT done_seq, tried_seq, last_seq, attempts, last_error FROM after_sync_rows');
  return { clock, change, sent, answers, failures, parts, run, bodies, rows, successes: () => successes };
}

describe.each(databases)('after-sync hooks on $database', ({ database, open }) => {
  test(`after-sync on ${database}: one run reports all changes of the delay, by source, with counts and numbers`, async () => {
    const { clock, change, run, bodies, sent } = await openHook(await open());
    await change('added');
    expect(await run()).toBe(60_000);
    await change('added');
    clock.advance(4_000);
    await change('changed', { id: 'inv_1' });
    expect(await run()).toBe(6_000);
    clock.advance(6_000);
    await change('removed');
    await change('snapshot', { source_no: 2, id: null });
    await change('changed', { source_no: 2, id: 'ofr_1', about: 'round' });
    expect(await run()).toBe(60_000);
    expect(bodies()).toEqual([
      {
        type: 'sync.changed',
        hook: 'dbt',
        at: '2026-10-20T12:00:10.000Z',
        first_seq: 2,
        last_seq: 6,
        sources: [
          {
            ...{ source: 'acme', first_seq: 2, last_seq: 4, added: 1, changed: 1, removed: 1 },
            ...{ listed: false, catalog: 0, rows: 12 },
            complete_up_to: '2026-10-20T11:59:00.000Z',
            cursor_saved_at: '2026-10-20T11:59:00.000Z',
          },
          expect.objectContaining({
            ...{ source: 'globex', first_seq: 5, last_seq: 6, added: 0, changed: 0, removed: 0 },
            ...{ listed: true, catalog: 1, rows: 3 },
          }),
        ],
      },
    ]);
    expect(sent[0]).toMatchObject({ attempts: 0, target: 'after-sync.dbt' });
    expect(await run()).toBe(60_000);
    expect(sent).toHaveLength(1);
  });

  test(`after-sync on ${database}: a failed run is repeated with the same message, and later changes come after it`, async () => {
    const { clock, change, run, bodies, sent, answers, failures, rows, successes } = await openHook(
      await open(),
    );
    await run(true);
    await change('added');
    clock.advance(10_000);
    answers.push(failed, failed);
    const wait = await run();
    expect(wait).toBeGreaterThanOrEqual(2_500);
    await change('changed');
    expect(await run()).toBe(wait);
    clock.advance(wait);
    clock.advance(await run());
    await run();
    clock.advance(10_000);
    await run();
    expect(failures).toEqual(['ended with code 1', 'ended with code 1']);
    expect(new Set(sent.slice(0, 3).map(messageId)).size).toBe(1);
    expect(sent.map(({ attempts }) => attempts)).toEqual([0, 1, 2, 0]);
    expect(bodies().map(({ first_seq, last_seq }) => [first_seq, last_seq])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 2],
    ]);
    expect(successes()).toBe(2);
    expect(await rows()).toEqual([
      { done_seq: 2, tried_seq: 2, last_seq: null, attempts: 0, last_error: null },
    ]);
  });

  test(`after-sync on ${database}: a refused run waits for the next change, whose run reports its changes too`, async () => {
    const { clock, change, run, bodies, answers, failures, rows, parts } = await openHook(await open());
    await run();
    await change('added');
    clock.advance(10_000);
    answers.push({ kind: 'refused', why: 'answered 422' });
    expect(await run()).toBe(60_000);
    expect(await rows()).toMatchObject([{ done_seq: 0, tried_seq: 1, last_error: 'answered 422' }]);
    // A restart reports the failure again.
    await step(parts, true, never);
    expect(failures).toEqual(['answered 422', 'answered 422']);
    await change('changed');
    clock.advance(10_000);
    await run();
    expect(bodies().map(({ first_seq, last_seq }) => [first_seq, last_seq])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(await rows()).toMatchObject([{ done_seq: 2, last_error: null }]);
  });

  test(`after-sync on ${database}: a run that fails for a day is given up`, async () => {
    const { clock, change, run, answers, sent, rows } = await openHook(await open());
    await run();
    await change('added');
    clock.advance(10_000);
    answers.push(failed, failed);
    await run();
    clock.advance(24 * 3_600_000);
    expect(await run()).toBe(60_000);
    expect(sent).toHaveLength(2);
    expect(await rows()).toMatchObject([{ done_seq: 0, tried_seq: 1, last_seq: null, attempts: 0 }]);
  });

  test(`after-sync on ${database}: a run that waited for a stopped daemon for a day is repeated when it fails`, async () => {
    const { clock, change, run, answers, sent, parts, rows } = await openHook(await open());
    await run();
    await change('added');
    clock.advance(10_000);
    await step(parts, false, never);
    clock.advance(2 * 24 * 3_600_000);
    answers.push(failed);
    clock.advance(await run());
    expect(await run()).toBe(60_000);
    expect(sent).toHaveLength(2);
    expect(await rows()).toMatchObject([{ done_seq: 1, last_error: null }]);
  });

  test(`after-sync on ${database}: a run that was interrupted by a stop is repeated with the same message`, async () => {
    const { clock, change, run, sent, parts, rows } = await openHook(await open());
    await run();
    await change('added');
    clock.advance(10_000);
    const stop = new AbortController();
    const hook = {
      ...parts.hook,
      send: async (message: DueNotice) => {
        sent.push(message);
        stop.abort();
        return failed;
      },
    };
    await step({ ...parts, hook }, false, stop.signal);
    await step({ ...parts, hook }, false, stop.signal);
    expect(await rows()).toMatchObject([{ last_seq: 1, attempts: 0, last_error: null }]);
    await run();
    expect(sent.map(messageId)).toEqual([messageId(sent[0] as DueNotice), messageId(sent[0] as DueNotice)]);
  });

  test.each<readonly [string, Sent, object]>([
    ['success', delivered, { done_seq: 1, attempts: 0, last_error: null }],
    ['failure', failed, { done_seq: 0, attempts: 1, last_error: 'ended with code 1' }],
  ])(
    `after-sync on ${database}: a %s that could not be stored is stored later, and the hook does not run again for it`,
    async (_, result, stored) => {
      const mirror = await open();
      const { clock, change, parts, run, sent, answers, rows } = await openHook(mirror);
      await run();
      await change('added');
      clock.advance(10_000);
      answers.push(result);
      const busy = new Fault('database_busy', 'another program holds the write lock');
      let isLocked = true;
      const store = new (class extends AfterSyncHooks {
        override async succeeded(...result: Parameters<AfterSyncHooks['succeeded']>) {
          if (isLocked) throw busy;
          await super.succeeded(...result);
        }
        override async retryLater(...result: Parameters<AfterSyncHooks['retryLater']>) {
          if (isLocked) throw busy;
          await super.retryLater(...result);
        }
      })(mirror.connection);
      const last = { unsettled: null };
      const next = () => step({ ...parts, store }, false, never, last);
      expect(await next()).toBe(0);
      for (let attempt = 0; attempt < 3; attempt += 1) await expect(next()).rejects.toBe(busy);
      isLocked = false;
      expect(await next()).toBe(0);
      expect(sent).toHaveLength(1);
      expect(await rows()).toMatchObject([stored]);
      expect(await next()).toBeGreaterThan(0);
    },
  );

  test(`after-sync on ${database}: a hook for some sources runs only after their changes`, async () => {
    const { clock, change, run, bodies } = await openHook(await open(), ['globex']);
    await run();
    await change('added');
    clock.advance(60_000);
    expect(await run()).toBe(60_000);
    await change('added', { source_no: 2 });
    await change('added');
    clock.advance(10_000);
    await run();
    expect(bodies()).toMatchObject([
      { first_seq: 2, last_seq: 2, sources: [{ source: 'globex', added: 1 }] },
    ]);
  });

  test(`after-sync on ${database}: a change dated by a clock that was ahead does not delay the run by that`, async () => {
    const { clock, change, run, sent } = await openHook(await open());
    await run();
    await change('added', { at: '2027-01-01T00:00:00.000Z' });
    expect(await run()).toBe(60_000);
    expect(sent).toHaveLength(1);
    expect(clock.now()).toBeLessThan(Date.parse('2026-12-01T00:00:00.000Z'));
  });

  test.each<readonly [string, Sent]>([
    ['success', delivered],
    ['failure', failed],
    ['refusal', { kind: 'refused', why: 'answered 410' }],
  ])(
    `after-sync on ${database}: the late %s of a former leader leaves the message of its successor`,
    async (_, late) => {
      const { clock, change, parts, run, rows } = await openHook(await open());
      await run();
      await change('added');
      clock.advance(10_000);
      expect(await step(parts, false, never)).toBe(0);
      const hook = {
        ...parts.hook,
        send: async () => {
          // Meanwhile the new leader runs the same message, and stores the next one.
          await run();
          await change('added');
          clock.advance(10_000);
          await step(parts, false, never);
          return late;
        },
      };
      await step({ ...parts, hook }, false, never);
      expect(await rows()).toEqual([
        { done_seq: 1, tried_seq: 2, last_seq: 2, attempts: 0, last_error: null },
      ]);
    },
  );

  test(`after-sync on ${database}: a former leader that wakes up late overwrites neither a message nor its result`, async () => {
    const mirror = await open();
    const { clock, change, parts, run, rows, sent } = await openHook(mirror);
    const { store } = parts;
    const at = instantFromMillis(clock.now());
    await run(true);
    await change('added');
    const seen = await store.state('dbt');
    expect(await store.queue('dbt', seen, { body: '{"of":"leader"}', lastSeq: 1, at })).toBe(true);
    const late = { body: '{"of":"former"}', lastSeq: 1, at };
    expect(await store.queue('dbt', seen, late)).toBe(false);
    expect((await store.state('dbt')).message?.body).toBe('{"of":"leader"}');
    expect(await run()).toBe(60_000);
    expect(await store.queue('dbt', seen, late)).toBe(false);
    expect(await rows()).toEqual([
      { done_seq: 1, tried_seq: 1, last_seq: null, attempts: 0, last_error: null },
    ]);
    expect(sent.map(({ body }) => body)).toEqual(['{"of":"leader"}']);
    // Between its look and its write, another leader reported the same changes.
    await change('added');
    clock.advance(10_000);
    const overtaken: AfterSyncParts = {
      ...parts,
      store: new (class extends AfterSyncHooks {
        override async changesAfter(...wanted: Parameters<AfterSyncHooks['changesAfter']>) {
          const changes = await super.changesAfter(...wanted);
          await run();
          return changes;
        }
      })(mirror.connection),
    };
    expect(await step(overtaken, false, never)).toBeGreaterThan(0);
    expect(sent).toHaveLength(2);
    expect(await run()).toBe(60_000);
    expect(sent).toHaveLength(2);
  });

  test(`after-sync on ${database}: a message names no person`, async () => {
    const mirror = await open();
    await fillWithCanaries(mirror);
    const store = new AfterSyncHooks(mirror.connection);
    await store.state('dbt');
    const at = '2026-10-20T12:00:00.000Z';
    await mirror.insert('change_rows', { ...{ seq: 1, source_no: 1, kind: 'added', id: 'inv_1', at } });
    const changes = await store.changesAfter(0, null);
    expect(changes).toMatchObject([{ source: 'acme', added: 1 }]);
    expect(showsPeople(JSON.stringify(changes))).toBe(false);
  });
});
