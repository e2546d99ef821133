import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Beat, MemberSeen, Message, OpenFleet } from './ports.js';
import { shareOf } from './share.js';

export interface FleetParts {
  readonly open: OpenFleet;
  readonly member: string;
  readonly sources: readonly SourceName[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a member's process is known to have died, so that nobody need wait until it was silent for long. */
  readonly isGone: (member: string) => boolean;
  /** Works the source from now on. */
  readonly follow: (source: SourceName) => void;
  /** Works it no more. Resolves when nothing of it runs. */
  readonly leave: (source: SourceName) => Promise<void>;
  readonly isBusy: (source: SourceName) => boolean;
  readonly onMessage: (message: Message) => void;
  /** Now and then, and whenever messages may have been lost: look what waits. */
  readonly onLook: () => void;
  /** What only one of the fleet does is this member's to do from now on. */
  readonly onLead: () => void;
  /** After each heartbeat: null, or why it could not be written. */
  readonly onHeartbeat?: (error: unknown) => void;
}

export interface Fleet extends Closable {
  /** Joins, and takes the first share. Throws when the database cannot be reached. */
  start(): Promise<void>;
  holds(source: SourceName): boolean;
  readonly held: number;
  /** Members that live, this one among them. */
  readonly living: number;
  /** Known to be the only one of them. */
  readonly alone: boolean;
  /** Whether what is done once in a fleet is done here: notices, and keeping house. Two may think so for a moment. */
  readonly leads: boolean;
  /** The database is back: the next heartbeat is due now. */
  look(): void;
  /** Never rejects: what a lost message spoke of stands in the database, and is found there a little later. */
  tell(message: Message): Promise<void>;
}

/** How often a member tells that it lives; with one statement, whatever it holds. */
export const beatMillis = 2_000;
/** Every so many beats the shares are reckoned anew, and the inbox is looked at, even if nothing seems to have changed. */
const lookEvery = 3;

/**
 * This daemon's place among those that share a database. It tells that it lives, takes its share of the sources,
 * gives back what is too much, and takes over from those that fell silent. Who works a source is a matter of peace
 * and quiet alone: what is written is kept right by the lease and the fence of each tick, whoever thinks what.
 *
 * The loop runs until `close`; each turn is one beat, and comes when the time is up or somebody came or went.
 */
export function createFleet(parts: FleetParts): Fleet {
  const { clock, logger } = parts;
  const held = new Set<SourceName>();
  const leaving = new Set<SourceName>();
  const stopping = new AbortController();
  let wake = new AbortController();
  let called = false;
  let leads = false;
  let living = 1;
  let turns = 0;
  let others = '';
  let silent = false;

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
    store.tell(message).catch((error: unknown) => logger.debug({ error }, 'the fleet could not be told'));

  const giveBack = async (source: SourceName) => {
    leaving.add(source);
    held.delete(source);
    try {
      await parts.leave(source);
      await store.release([source]);
      await tell(members);
    } catch (error) {
      logger.debug({ error, source }, 'a source could not be given back and is tried again');
    } finally {
      leaving.delete(source);
    }
  };

  const reckon = async () => {
    const holdings = await store.holdings();
    for (const source of held)
      if (holdings.held.get(source) !== parts.member) {
        held.delete(source);
        logger.warn({ source }, 'the source was taken over while this process was silent');
        void parts.leave(source);
      }
    const { take, release } = shareOf(parts.member, holdings, parts.isBusy);
    const over = release.filter((source) => !leaving.has(source));
    const resting = over.filter((source) => !parts.isBusy(source));
    // What rests goes in one statement; what ticks goes when its tick is over.
    for (const source of resting) held.delete(source);
    await Promise.all(resting.map((source) => parts.leave(source)));
    if (resting.length > 0) await store.release(resting);
    for (const source of over) if (!resting.includes(source)) void giveBack(source);
    if (resting.length > 0) await tell(members);
    const mine = [...holdings.held].filter(
      ([source, member]) => member === parts.member && !held.has(source),
    );
    const found = mine.map(([source]) => source).filter((source) => !release.includes(source));
    const taken = take.length === 0 ? [] : await store.take(take);
    const gained = [...found, ...taken].filter((source) => !leaving.has(source));
    for (const source of gained) {
      held.add(source);
      parts.follow(source);
    }
    if (gained.length + over.length > 0)
      logger.info(
        { count: held.size, added: gained.length, removed: over.length },
        'sources were shared out anew',
      );
  };

  const turn = async () => {
    let beat = await store.beat();
    if (beat === null) {
      await store.join(parts.sources);
      beat = await store.beat();
      if (beat === null) throw new Error('a member that has just joined is not there');
    }
    const dead = beat.members.filter(({ member, alive }) => alive && parts.isGone(member));
    if (dead.length > 0) await store.bury(dead.map(({ member }) => member));
    const alive = beat.members.filter((member) => member.alive && !dead.includes(member));
    living = alive.length;
    turns += 1;
    if (needsReckoning(beat, alive)) await reckon();
    lead(alive);
    if (turns % lookEvery === 0) parts.onLook();
  };

  const needsReckoning = ({ late, members }: Beat, alive: readonly MemberSeen[]): boolean => {
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
    if (leads && !before) parts.onLead();
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      called = false;
      try {
        await turn();
        silent = false;
        parts.onHeartbeat?.(null);
      } catch (error) {
        if (!stopping.signal.aborted) parts.onHeartbeat?.(error);
        if (!silent && !stopping.signal.aborted)
          logger.warn({ error }, 'the fleet cannot be reached and is tried again');
        silent = true;
      }
      if (called || stopping.signal.aborted) continue;
      wake = new AbortController();
      await clock.wait(beatMillis, wake.signal);
    }
  };

  let running: Promise<void> | null = null;
  return {
    start: async () => {
      await store.join(parts.sources);
      await turn();
      await tell(members);
      running = clock.wait(beatMillis, wake.signal).then(run);
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
      return leads;
    },
    look: call,
    tell,
    close: async () => {
      stopping.abort();
      wake.abort();
      await running;
      leads = false;
      try {
        await Promise.all([...held, ...leaving].map((source) => parts.leave(source)));
        if (running !== null) await store.leave();
      } catch (error) {
        logger.debug({ error }, 'the fleet was not told of the end; it notices by itself');
      }
      held.clear();
      await store.close();
    },
  };
}

const members: Message = { kind: 'members' };

const keyOf = ({ joinedAt, member }: MemberSeen): string => `${joinedAt} ${member}`;
