import { expect } from 'vitest';
import { type Instant, instantFromMillis } from '../../src/domain/instant.js';
import { decideNotices, foldNotices } from '../../src/outbox/decide-notices.js';
import { deliverDue } from '../../src/outbox/deliver.js';
import type { Notice } from '../../src/outbox/notice.js';
import type { DueNotice, Send, Sent } from '../../src/outbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { postgresConnection, sqliteConnection } from '../../src/store/connection.js';
import { Outbox } from '../../src/store/outbox.js';
import { testRandom } from '../support/chance.js';
import fc from '../support/property.js';
import { test } from './both-databases.js';
import { mirrorFixture, SteppingClock, type Store } from './mirror-fixture.js';
import { record } from './samples.js';

const never = new AbortController().signal;
const minute = 60_000;

const outboxOf = (store: Store): Outbox =>
  new Outbox(store.kind === 'sqlite' ? sqliteConnection(store.sqlite) : postgresConnection(store.postgres));

interface Attempt {
  readonly at: number;
  readonly notice: number;
  readonly content: Notice;
  readonly answer: Sent['kind'];
}

/** A mirror whose commits queue notices, and a receiver with scripted responses. */
async function noticeMirror() {
  const clock = new SteppingClock();
  clock.stepMs = 1;
  const receivers = [{ name: 'hook', rules: {} }];
  const draft = (changes: Parameters<typeof decideNotices>[0]) => decideNotices(changes, receivers);
  const fixture = await mirrorFixture({ notices: { draft, fold: foldNotices }, clock });
  const attempts: Attempt[] = [];
  const answers: Sent[] = [];
  /** Happens while the next notice is being sent. */
  const meanwhile: (() => Promise<unknown>)[] = [];
  const send: Send = async ({ notice, body }: DueNotice) => {
    await meanwhile.shift()?.();
    const answer = answers.shift() ?? { kind: 'delivered' };
    attempts.push({ at: clock.millis, notice, content: JSON.parse(body), answer: answer.kind });
    return answer;
  };
  const deliver = async (outbox: Outbox = outboxOf(fixture.store)) =>
    await deliverDue(
      { outbox, targets: new Map([['hook', send]]), clock, random: testRandom(), logger: silentLogger },
      never,
    );
  const change = (id: string, status: string) => fixture.delta([record(id, { status })]);
  return { ...fixture, clock, attempts, answers, meanwhile, deliver, change };
}

/** Returns the times between attempts at two different notices about the same record. */
function gaps(attempts: readonly Attempt[]): readonly number[] {
  return attempts.flatMap(({ at, notice, content }, index) => {
    const last = attempts.slice(0, index).findLast((one) => one.content.id === content.id);
    return last === undefined || last.notice === notice ? [] : [at - last.at];
  });
}

test('a notice waits a minute from the last attempt at the previous one about its record, whenever it was due', async () => {
  const { list, clock, attempts, answers, deliver, change } = await noticeMirror();
  await list([[record('inv_1')]]);
  answers.push({ kind: 'failed', why: 'answered 503', afterMillis: 26_000 });
  await change('inv_1', 'active');
  await deliver();
  await change('inv_1', 'executed');
  for (let second = 0; second < 150; second += 1) {
    clock.millis += 1_000;
    await deliver();
  }
  expect(attempts.map(({ answer }) => answer)).toEqual(['failed', 'delivered', 'delivered']);
  expect(Math.round(gaps(attempts)[0] ?? 0)).toBeGreaterThanOrEqual(minute);
  expect(attempts.at(-1)?.content.text).toBe('acme: investment inv_1: status active → executed');
});

test('a notice delivered while the clock was ahead does not end the minute between later ones', async () => {
  const { list, clock, attempts, answers, deliver, change } = await noticeMirror();
  await list([[record('inv_1')]]);
  clock.millis += 1_440 * minute;
  await change('inv_1', 'active');
  await deliver();
  clock.millis -= 1_440 * minute;
  await change('inv_1', 'executed');
  const failed = (afterMillis: number): Sent => ({ kind: 'failed', why: 'answered 503', afterMillis });
  answers.push(failed(26_000), failed(50_000));
  for (let second = 0; second < 300; second += 1) {
    clock.millis += 1_000;
    if (second === 70) await change('inv_1', 'approved');
    await deliver();
  }
  expect(attempts.map(({ answer }) => answer)).toEqual([
    ...['delivered', 'failed', 'failed', 'delivered', 'delivered'],
  ]);
  expect(Math.round(gaps(attempts.slice(1))[0] ?? 0)).toBeGreaterThanOrEqual(minute);
});

for (const status of ['executed', 'approved'])
  test(`a change to ${status} that a host with a slow clock commits while a notice is being sent gets its own notice`, async () => {
    const { list, clock, attempts, meanwhile, deliver, change } = await noticeMirror();
    await list([[record('inv_1', { status: 'approved' })]]);
    await change('inv_1', 'active');
    meanwhile.push(async () => {
      clock.millis -= 20_000;
      await change('inv_1', status);
      clock.millis += 20_000;
    });
    await deliver();
    clock.millis += minute;
    await deliver();
    expect(attempts.map(({ content }) => content.after?.status)).toEqual(['active', status]);
  });

/** Plays until a notice is due and about to be merged into one that waits, does `between`, and delivers the rest. */
async function mergedWhile(
  third: string,
  between: (world: {
    readonly change: (id: string, status: string) => Promise<unknown>;
    readonly at: (second: number) => void;
    readonly now: () => Instant;
    readonly other: Outbox;
    readonly earlier: number;
  }) => Promise<unknown>,
) {
  const { list, clock, attempts, answers, deliver, change, store } = await noticeMirror();
  await list([[record('inv_1', { status: 'approved' })]]);
  const start = clock.millis;
  const at = (second: number) => {
    clock.millis = start + second * 1_000;
  };
  answers.push(...Array<Sent>(2).fill({ kind: 'failed', why: 'answered 503', afterMillis: 100_000 }));
  await change('inv_1', 'active');
  await deliver();
  at(1);
  await change('inv_1', 'funded');
  at(102);
  await deliver();
  at(155);
  await change('inv_1', third);
  at(203);
  await deliver();
  // The first notice was delivered, the second waits for its minute, and the third is due.
  at(225);
  const outbox = outboxOf(store);
  const about = outbox.about.bind(outbox);
  outbox.about = async (...of) => {
    outbox.about = about;
    const found = await about(...of);
    const now = () => instantFromMillis(clock.millis);
    await between({ change, at, now, other: outboxOf(store), earlier: found.earlier?.notice ?? 0 });
    return found;
  };
  await deliver(outbox);
  for (let next = await deliver(); next !== null; next = await deliver()) clock.millis = next;
  // Three attempts were at the first notice.
  return attempts.slice(3).map(({ content }) => content.after?.status);
}

for (const [how, third, fourth] of [
  ['are merged', 'canceled', 'executed'],
  ['cancel out', 'active', 'approved'],
] as const)
  test(`a change that a host with a slow clock commits while two notices ${how} is not lost`, async () => {
    const later = await mergedWhile(third, async ({ change, at }) => {
      at(200);
      await change('inv_1', fourth);
      at(225);
    });
    expect(later).toEqual([fourth]);
  });

for (const third of ['canceled', 'active'])
  test(`a change to ${third} is not lost when another process sends the notice that its own is merged into`, async () => {
    const later = await mergedWhile(third, async ({ other, earlier, now }) => {
      await other.begin(earlier);
      await other.delivered(earlier, now());
    });
    expect(later).toEqual([third]);
  });

test('changes of a record during a receiver outage arrive as two notices, a minute apart', async () => {
  const { list, clock, attempts, answers, deliver, change } = await noticeMirror();
  await list([[record('inv_1')]]);
  answers.push(...Array<Sent>(40).fill({ kind: 'failed', why: 'answered 503', afterMillis: 15 * minute }));
  for (let hour = 0; hour < 10; hour += 1) {
    await change('inv_1', `status ${hour}`);
    await deliver();
    clock.millis += 60 * minute;
  }
  answers.length = 0;
  const before = attempts.length;
  for (let step = 0; step < 10; step += 1) {
    await deliver();
    clock.millis += 31_000;
  }
  expect(attempts.slice(before).map(({ content }) => content.text)).toEqual([
    'acme: investment inv_1: status approved → status 0',
    'acme: investment inv_1: status status 0 → status 9',
  ]);
  expect(gaps(attempts)[0]).toBeGreaterThanOrEqual(minute);
});

test('an attempt recorded while the clock was ahead delays the next notice by at most two minutes', async () => {
  const { list, rows, clock, attempts, deliver, change } = await noticeMirror();
  await list([[record('inv_1')]]);
  await change('inv_1', 'active');
  await deliver();
  await rows("UPDATE notice_rows SET next_at = '2030-01-01T00:00:00.000Z'");
  await change('inv_1', 'executed');
  clock.millis += 2 * minute;
  await deliver();
  expect(attempts).toHaveLength(2);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), millis: fc.integer({ min: 1, max: 90_000 }) }),
  fc.record({
    kind: fc.constant('change' as const),
    record: fc.constantFrom('a', 'b'),
    status: fc.constantFrom('approved', 'active', 'executed'),
  }),
  fc.record({
    kind: fc.constant('answer' as const),
    answer: fc.constantFrom<Sent>(
      { kind: 'failed', why: 'answered 503' },
      { kind: 'failed', why: 'answered 429', afterMillis: 45_000 },
      { kind: 'refused', why: 'answered 400' },
    ),
  }),
  fc.record({ kind: fc.constant('killed after sending' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

test('notices about a record stay a minute apart and none is lost, for any responses and any killed senders', async () => {
  const { list, rows, clock, attempts, answers, deliver, change, store } = await noticeMirror();
  const worlds = 30;
  await list([
    Array.from({ length: worlds }, (_, world) => [record(`inv_${world}_a`), record(`inv_${world}_b`)]).flat(),
  ]);
  let world = 0;
  const play = async (steps: readonly Step[]) => {
    // Each run uses its own records; all share one database.
    const prefix = `inv_${world++ % worlds}_`;
    attempts.length = 0;
    for (const next of steps) {
      if (next.kind === 'wait') clock.millis += next.millis;
      else if (next.kind === 'change') await change(prefix + next.record, next.status);
      else if (next.kind === 'answer') answers.push(next.answer);
      else await deliver(dying(store)).catch(() => {});
      // Each delivery stands for a new process: all it knows comes from disk.
      if (next.kind === 'wait') await deliver();
    }
    answers.length = 0;
    for (let next = await deliver(); next !== null; next = await deliver())
      clock.millis = Math.max(clock.millis, next);

    expect(Math.min(minute, ...gaps(attempts))).toBe(minute);
    for (const id of [`${prefix}a`, `${prefix}b`]) {
      const [held] = (await rows('SELECT status FROM investments WHERE id = ?', id)) as { status: string }[];
      let lastStatus = 'approved';
      for (const { content } of eachNotice(attempts.filter((one) => one.content.id === id))) {
        expect(content.before?.status).toBe(lastStatus);
        lastStatus = content.after?.status ?? '';
      }
      expect(lastStatus).toBe(held?.status);
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), play), {
    numRuns: worlds,
    endOnFailure: true,
  });
});

/** An outbox of a process that is killed after sending and before recording it. */
function dying(store: Store): Outbox {
  const gone = async () => {
    throw new Error('killed');
  };
  return Object.assign(outboxOf(store), { delivered: gone, retryLater: gone, giveUp: gone });
}

/** Returns each notice once, with its last attempt, in the order of first attempts. */
const eachNotice = (attempts: readonly Attempt[]): readonly Attempt[] => [
  ...new Map(attempts.map((one) => [one.notice, one])).values(),
];
