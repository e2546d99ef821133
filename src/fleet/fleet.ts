import { isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { HeldSources } from './held-sources.js';
import type { Beat, MemberSeen, Message, OpenFleet } from './ports.js';

export interface FleetParts {
  readonly open: OpenFleet;
  readonly member: string;
  /** The sources at the start; `setSources` replaces them. */
  readonly sources: readonly SourceName[];
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Whether a member's process is known to have died, so its sources can be taken over before the heartbeat expires.
   */
  readonly isGone: (member: string) => boolean;
  /** Starts to work these sources. */
  readonly follow: (sources: readonly SourceName[]) => void;
  /** Stops working the source. Resolves when no tick of it is running. */
  readonly leave: (source: SourceName) => Promise<void>;
  readonly isBusy: (source: SourceName) => boolean;
  /** Returns the sources here that webhooks tick out of a quota that runs short. */
  readonly spaced: () => readonly SourceName[];
  /** Called after each heartbeat with such sources of the other living members. */
  readonly onSpaced: (sources: readonly SourceName[]) => void;
  readonly onMessage: (message: Message) => void;
  /** Called periodically, and whenever messages may have been lost, to look for waiting work. */
  readonly onLook: () => void;
  /** This member has become the leader, which does the work that runs once per fleet. */
  readonly onLead: () => void;
  /** Called after each heartbeat: with null, or with the error that prevented it. */
  readonly onHeartbeat?: (error: unknown) => void;
}

export interface Fleet extends Closable {
  /** Joins the fleet and claims the first share of sources. Throws when the database cannot be reached. */
  start(): Promise<void>;
  /**
   * Replaces the sources that this member can work, without leaving the fleet: it releases removed ones, and new ones are
   * shared out. Takes effect with the next heartbeat, which is due now. `removed`: sources that ended since, also those
   * that were added again.
   */
  setSources(sources: readonly SourceName[], removed?: readonly SourceName[]): void;
  holds(source: SourceName): boolean;
  readonly held: number;
  /** Number of living members, including this one. */
  readonly living: number;
  /** Whether this is known to be the only living member. */
  readonly alone: boolean;
  /**
   * Whether this member is the leader, which sends notices and does maintenance. Two members may both think so for a
   * moment.
   */
  readonly leads: boolean;
  /** Whether another member leads, as the last heartbeat that arrived found. */
  readonly isLed: boolean;
  /** The database is back: the next heartbeat is due now. */
  look(): void;
  /**
   * Sends a message to the other members. Never rejects: a lost message delays work a little, because everything it
   * reports is also in the database.
   */
  tell(message: Message): Promise<void>;
}

/** Heartbeat interval. One heartbeat is one statement, however many sources the member holds. */
export const beatMillis = 2_000;
/** The others consider a member dead after so long without a heartbeat. */
const silentMillis = 4 * beatMillis;
/** While messages ask for one heartbeat after another, each waits this many times as long as the last one took. */
const restFactor = 2;
/** Every this many heartbeats the shares are recomputed and the inbox is checked, even without a visible change. */
const lookEvery = 3;

/**
 * This daemon's membership in the fleet that shares a database. It sends heartbeats, claims its share of the sources,
 * releases surplus ones and takes over those of dead members. Which member works a source only avoids duplicate work.
 * Correctness comes from the lease and the fence token of each tick.
 *
 * The loop runs until `close`. Each turn is one heartbeat, sent when the interval ends or a member joins or leaves.
 */
export function createFleet(parts: FleetParts): Fleet {
  const { clock, logger } = parts;
  const stopping = new AbortController();
  let wake = new AbortController();
  let called = false;
  let leads = false;
  let isLed = false;
  let living = 1;
  let turns = 0;
  let others = '';
  let unreachable = false;
  /** On the monotonic clock: when the last heartbeat that arrived was sent. */
  let beatAt = Number.NEGATIVE_INFINITY;
  let { sources } = parts;
  /** The sources that the database knows of this member. */
  let registered: readonly SourceName[] | null = null;

  /**
   * Whether the others consider this member dead by now. Another one may lead, and two would send each notice twice. If no
   * heartbeats arrive at all, none leads.
   */
  const isForgotten = () => living > 1 && clock.monotonic() - beatAt >= silentMillis;

  const join = async () => {
    const joining = sources;
    await store.join(joining);
    registered = joining;
  };
  const call = () => {
    called = true;
    wake.abort();
  };
  const store = parts.open(parts.member, {
    onMessage: (message) => (message.kind === 'members' ? call() : parts.onMessage(message)),
    onGap: () => {
      parts.onLook();
      call();
    },
  });
  const tell = (message: Message) =>
    store
      .tell(message)
      .catch((error: unknown) => logger.debug({ error }, 'a message to the fleet could not be sent'));

  const held = new HeldSources({
    member: parts.member,
    store,
    follow: parts.follow,
    leave: parts.leave,
    isBusy: parts.isBusy,
    onReleased: () => tell(members),
    logger,
  });

  const turn = async () => {
    const isChanged = registered !== sources;
    if (isChanged) await join();
    const spaced = parts.spaced();
    const sentAt = clock.monotonic();
    let beat = await store.beat(spaced);
    if (beat === null) {
      await join();
      beat = await store.beat(spaced);
      if (beat === null) throw new Error('a member that has just joined is not registered');
    }
    if (isForgotten()) leads = false;
    beatAt = sentAt;
    const dead = beat.members.filter(({ member, alive }) => alive && parts.isGone(member));
    if (dead.length > 0) await store.markDead(dead.map(({ member }) => member));
    const alive = beat.members.filter((member) => member.alive && !dead.includes(member));
    living = alive.length;
    parts.onSpaced(alive.flatMap((other) => (other.member === parts.member ? [] : other.spaced)));
    turns += 1;
    // Not short-circuited: it remembers what it saw.
    const isDue = needsRebalance(beat, alive);
    if (isDue || isChanged) await held.rebalance();
    if (isChanged) await tell(members);
    lead(alive);
    if (turns % lookEvery === 0) parts.onLook();
  };

  const needsRebalance = ({ late, members }: Beat, alive: readonly MemberSeen[]): boolean => {
    const before = others;
    others = alive.map(({ member }) => member).join('\n');
    const mine = alive.find(({ member }) => member === parts.member)?.holds;
    const orphaned = members.some((member) => member.holds > 0 && !alive.includes(member));
    return late || orphaned || before !== others || mine !== held.size || turns % lookEvery === 1;
  };

  const lead = (alive: readonly MemberSeen[]) => {
    const [first] = [...alive].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const before = leads;
    leads = first?.member === parts.member;
    isLed = !leads;
    if (leads && !before) parts.onLead();
  };

  const failed = async (error: unknown) => {
    parts.onHeartbeat?.(error);
    // Such as after a later version has migrated the database: no tick could write anything either.
    const isRefused = isFault(error, 'database_unusable');
    if (!unreachable)
      logger.warn(
        { error },
        isRefused
          ? 'the database refuses this daemon, which follows no source until that changes'
          : 'the fleet database cannot be reached and will be retried',
      );
    unreachable = true;
    if (!isRefused) return;
    leads = false;
    isLed = living > 1;
    await held.abandon();
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      called = false;
      const begunAt = clock.monotonic();
      try {
        await turn();
        unreachable = false;
        parts.onHeartbeat?.(null);
      } catch (error) {
        if (!stopping.signal.aborted) await failed(error);
      }
      if (stopping.signal.aborted) continue;
      if (called) {
        await clock.wait(Math.min(beatMillis, restFactor * (clock.monotonic() - begunAt)), stopping.signal);
        continue;
      }
      wake = new AbortController();
      await clock.wait(beatMillis, wake.signal);
    }
  };

  let running: Promise<void> | null = null;
  return {
    start: async () => {
      await turn();
      running = clock.wait(beatMillis, wake.signal).then(run);
    },
    setSources: (next, removed = []) => {
      sources = next;
      // One of these that was added again is claimed anew, so that it is followed, or it is released.
      held.forget(removed);
      call();
    },
    holds: (source) => held.has(source),
    get held() {
      return held.size;
    },
    get living() {
      return living;
    },
    get alone() {
      return turns > 0 && living === 1;
    },
    get leads() {
      return leads && !isForgotten();
    },
    get isLed() {
      return isLed;
    },
    look: call,
    tell,
    close: async () => {
      stopping.abort();
      wake.abort();
      await running;
      leads = false;
      try {
        await held.leaveAll();
        if (running !== null) await store.leave();
      } catch (error) {
        logger.debug({ error }, 'leaving the fleet failed; the others notice by the missing heartbeats');
      }
      held.clear();
      await store.close();
    },
  };
}

const members: Message = { kind: 'members' };

const keyOf = ({ joinedAt, member }: MemberSeen): string => `${joinedAt} ${member}`;
