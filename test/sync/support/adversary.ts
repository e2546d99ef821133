import { Fault, type FaultCode } from '../../../src/domain/fault.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import type { Position } from '../../../src/domain/position.js';
import { type Random, seededRandom } from '../../../src/runtime/random.js';
import type { Feed, Lease, Mirror, ReceivedPage } from '../../../src/sync/ports.js';
import { runTick } from '../../../src/sync/run-tick.js';
import { acme, never, partsOf } from './parts.js';
import { type Freedom, Truth } from './truth.js';
import { VirtualClock } from './virtual-clock.js';

type Awaitable<Value> = Value | Promise<Value>;

/** A mirror under test: the port, and what a reader sees. */
export interface Victim {
  readonly mirror: Mirror;
  /** The visible rows: amount in cents by id. */
  rows(): Awaitable<Map<string, number | null>>;
  /** The stored cursor of a source that follows, else null. */
  cursor(): Awaitable<string | null>;
  /** Returns what a new process finds after a crash. */
  reopen(): Promise<Victim>;
  close(): Promise<void>;
}

export interface Seen {
  crashes: number;
  restarts: number;
  relists: number;
  resyncs: number;
  faults: number;
  fallbacks: number;
}

class Crash extends Error {}

const codes: readonly FaultCode[] = ['unreachable', 'platform_error', 'contract_broken', 'rate_limited'];

/**
 * Runs one seeded world: records come, change and go between any two requests; requests fail, the database is busy,
 * positions expire, and the process dies before or after any commit. Then everything becomes quiet, and the mirror
 * must equal the truth. Invariants are checked at every commit on the way.
 */
export async function attack(seed: number, build: (clock: VirtualClock) => Promise<Victim>): Promise<Seen> {
  const random = seededRandom(seed * 7919 + 1);
  const chance = (share: number) => random.fraction() < share;
  const upTo = (count: number) => Math.floor(random.fraction() * count);
  const clock = new VirtualClock();
  const truth = new Truth(() => clock.now(), freedomOf(random));
  const seen: Seen = { crashes: 0, restarts: 0, relists: 0, resyncs: 0, faults: 0, fallbacks: 0 };
  const busy = random.fraction() * 0.3;
  let calm = false;
  let published = 1;
  let last = '';
  let problem: string | undefined;

  const churn = () => {
    const number = 1 + upTo(14);
    truth.publish(number, chance(0.3) ? null : published++);
    clock.jump(upTo(3) * 1000);
  };
  for (let count = upTo(20); count > 0; count -= 1) churn();

  const feed: Feed = {
    async page(position: Position): Promise<ReceivedPage> {
      if (!calm) {
        while (chance(0.3)) churn();
        if (chance(0.02)) {
          // Retention has a millisecond of its own: nothing else is published in it.
          clock.jump(1);
          truth.expire();
          clock.jump(1);
        }
        if (chance(busy)) {
          seen.faults += 1;
          const code = codes[upTo(codes.length)] ?? 'unreachable';
          throw new Fault(code, 'made up', { retryAt: instantFromMillis(clock.now() + 1000) });
        }
      }
      if (position.kind === 'start') seen.restarts += 1;
      return await truth.page(position).catch((error: unknown) => {
        if (position.kind === 'since') seen.fallbacks += 1;
        if (position.kind === 'cursor') seen.relists += 1;
        throw error;
      });
    },
  };

  let victim = await build(clock);
  for (let step = 0; step < 25; step += 1) {
    if (step === 24) calm = true;
    for (let tries = 0; ; tries += 1) {
      if (tries > 60) throw new Error(`seed ${seed}: the mirror does not come to rest: ${last}`);
      const crashAt = !calm && chance(0.3) ? upTo(8) : Number.POSITIVE_INFINITY;
      const faulty = underAttack(victim.mirror, {
        crashAt,
        after: chance(0.5),
        busy: () => !calm && chance(busy / 2),
        check: async () => {
          problem ??= await judge(truth, victim);
        },
      });
      const resync = !calm && chance(0.05);
      if (resync) seen.resyncs += 1;
      const { report } = await runTick(
        { identity: { name: acme, fingerprint: 'f1' }, feed: () => feed },
        { trigger: chance(0.5) ? 'webhook' : 'timer', resync, acceptDeletions: true },
        partsOf(faulty.mirror, clock, seed),
        never,
      );
      if (problem !== undefined) throw new Error(`seed ${seed}: ${problem}`);
      last = `${report.outcome} ${report.code} ${report.message}`;
      clock.jump(report.retryAt === null ? 1000 : Math.max(0, Date.parse(report.retryAt) - clock.now()));
      if (faulty.crashed()) {
        seen.crashes += 1;
        victim = await victim.reopen();
      } else if (!calm || report.outcome === 'done') break;
    }
    if (!calm) churn();
  }
  const [is, should] = [listed(await victim.rows()), listed(truth.current())];
  await victim.close();
  if (is !== should)
    throw new Error(`seed ${seed}: the mirror is not the truth\n  is     ${is}\n  should ${should}`);
  return seen;
}

const listed = (rows: ReadonlyMap<string, number | null>): string =>
  [...rows]
    .map(([id, cents]) => `${id}=${cents}`)
    .sort()
    .join(' ');

/**
 * The stored cursor is never ahead of the rows: a record published up to the cursor and not since is stored as
 * published.
 */
async function judge(truth: Truth, victim: Victim): Promise<string | undefined> {
  const cursor = await victim.cursor();
  if (cursor === null) return undefined;
  const reached = Number(cursor.split(':')[1]);
  const since = new Set(truth.ledger.slice(reached).map((one) => one.id as string));
  const rows = await victim.rows();
  const then = truth.current(reached);
  for (const id of new Set([...rows.keys(), ...(then.keys() as Iterable<string>)])) {
    if (since.has(id)) continue;
    const should = (then as ReadonlyMap<string, number>).get(id);
    if (rows.get(id) !== should) return `at ${cursor} the mirror holds ${id}=${rows.get(id)}, not ${should}`;
  }
  return undefined;
}

interface Attack {
  /** The process dies at this commit … */
  readonly crashAt: number;
  /** … after it, or before. */
  readonly after: boolean;
  readonly busy: () => boolean;
  readonly check: () => Promise<void>;
}

function underAttack(mirror: Mirror, { crashAt, after, busy, check }: Attack) {
  let step = 0;
  let dead = false;
  const wrap =
    <Arguments extends readonly unknown[], Result>(method: (...all: Arguments) => Promise<Result>) =>
    async (...all: Arguments): Promise<Result> => {
      if (dead) throw new Crash('this process is dead');
      const dies = step++ === crashAt;
      if (dies && !after) dead = true;
      if (dead) throw new Crash('died before the commit');
      if (busy()) throw new Fault('database_busy', 'made up');
      const result = await method.apply(mirror, all as never);
      await check();
      if (dies) dead = true;
      if (dead) throw new Crash('died behind the commit');
      return result;
    };
  const wrapped: Mirror = {
    open: wrap(mirror.open),
    renew: (lease: Lease) => mirror.renew(lease),
    release: wrap(mirror.release),
    beginListing: wrap(mirror.beginListing),
    addListingPage: wrap(mirror.addListingPage),
    publishListing: wrap(mirror.publishListing),
    applyPage: wrap(mirror.applyPage),
    loseIdentity: wrap(mirror.loseIdentity),
    regainIdentity: wrap(mirror.regainIdentity),
    deleteAwaiting: wrap(mirror.deleteAwaiting),
    recordTick: wrap(mirror.recordTick),
  };
  return { mirror: wrapped, crashed: () => dead };
}

function freedomOf(random: Random): Freedom {
  const yes = () => random.fraction() < 0.5;
  return {
    perPage: 1 + Math.floor(random.fraction() * 5),
    livePaging: yes(),
    finalCursor: yes() ? 'start' : 'end',
    repeats: yes(),
    emptyPages: yes(),
  };
}
