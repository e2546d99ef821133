import type { Clock } from '../../runtime/clock.js';
import { type Random, randomText } from '../../runtime/random.js';
import { NameSearches } from './name-searches.js';

/** What is remembered of one browser, in memory only: a restart forgets it, and nothing of it reaches a disk. */
export interface Session {
  readonly id: string;
  /** Stands in every form of ours; a page elsewhere cannot know it. */
  readonly csrf: string;
  signedIn: boolean;
  /** Until when names are shown in this browser; 0 when they are masked. */
  identityUntil: number;
  readonly names: NameSearches;
  /** Which credential was in force when it began: the session ends with it. */
  readonly mark: string;
  readonly beganAt: number;
  usedAt: number;
}

const idleMillisMax = 12 * 60 * 60_000;
/** A browser that is used all day signs in once a day. */
const ageMillisMax = 24 * 60 * 60_000;
const sessionsMax = 500;

export class Sessions {
  /** In the order of use. */
  readonly #held = new Map<string, Session>();

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** Returns a session that has not ended and counts this as a use of it. `mark` is of the credential now in force. */
  get(id: string | undefined, mark: string): Session | undefined {
    const session = id === undefined ? undefined : this.#held.get(id);
    if (session === undefined) return undefined;
    this.#held.delete(session.id);
    if (this.#hasEnded(session, mark)) return undefined;
    session.usedAt = this.clock.monotonic();
    this.#held.set(session.id, session);
    return session;
  }

  /** Whether a session has not ended; asking is no use of it. */
  lasts(session: Session, mark: string): boolean {
    return this.#held.has(session.id) && !this.#hasEnded(session, mark);
  }

  begin(signedIn: boolean, mark: string): Session {
    const now = this.clock.monotonic();
    const session: Session = {
      ...{ id: randomText(this.random, 32), csrf: randomText(this.random, 32), signedIn },
      ...{ identityUntil: 0, names: new NameSearches(this.random), mark, beganAt: now, usedAt: now },
    };
    if (this.#held.size >= sessionsMax) this.#held.delete(this.#leastMissed());
    this.#held.set(session.id, session);
    return session;
  }

  end(session: Session): void {
    this.#held.delete(session.id);
  }

  /** Judged on the clock that never goes back: nobody is kept in by a wall clock that was set. */
  #hasEnded({ beganAt, usedAt, mark: begunUnder }: Session, mark: string): boolean {
    const now = this.clock.monotonic();
    return begunUnder !== mark || now - usedAt > idleMillisMax || now - beganAt > ageMillisMax;
  }

  /** The one used longest ago, of those that did not sign in if there are any: visitors cannot push people out. */
  #leastMissed(): string {
    const ids = [...this.#held.values()];
    return (ids.find((session) => !session.signedIn) ?? ids[0])?.id ?? '';
  }
}
