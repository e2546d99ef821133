import type { Clock } from '../../runtime/clock.js';
import { type Random, randomText } from '../../runtime/random.js';
import type { Actor } from '../ports/operations.js';
import { NameSearches } from './name-searches.js';

/** The session of one browser, in memory only: it is never written to disk and ends with the process. */
export interface Session {
  readonly id: string;
  /** The CSRF token, part of every form of the console; other sites cannot know it. */
  readonly csrf: string;
  readonly signedIn: boolean;
  readonly actor: Actor;
  /** The time until which this browser shows names; 0 while they are masked. */
  identityUntil: number;
  readonly names: NameSearches;
  /** The answer to the last action, shown by the next page once. */
  flash: { readonly text: string; readonly hint?: string | undefined; readonly wrong: boolean } | null;
  /** Identifies the credential and the user at its start: the session ends when one of them changes. */
  readonly mark: string;
  readonly beganAt: number;
  usedAt: number;
}

const idleMillisMax = 12 * 60 * 60_000;
/** A browser in constant use signs in once a day. */
const ageMillisMax = 24 * 60 * 60_000;
const sessionsMax = 500;

export class Sessions {
  /** Least recently used first. */
  readonly #held = new Map<string, Session>();

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** Returns a session that has not ended, and counts this as a use. `marks` identify the current credentials. */
  get(id: string | undefined, marks: ReadonlySet<string>): Session | undefined {
    const session = id === undefined ? undefined : this.#held.get(id);
    if (session === undefined) return undefined;
    this.#held.delete(session.id);
    if (this.#hasEnded(session, marks)) return undefined;
    session.usedAt = this.clock.monotonic();
    this.#held.set(session.id, session);
    return session;
  }

  /** Returns whether a session has not ended, without counting it as a use. */
  lasts(session: Session, marks: ReadonlySet<string>): boolean {
    return this.#held.has(session.id) && !this.#hasEnded(session, marks);
  }

  begin(signedIn: boolean, mark: string, actor: Actor): Session {
    const now = this.clock.monotonic();
    const session: Session = {
      id: randomText(this.random, 32),
      csrf: randomText(this.random, 32),
      signedIn,
      actor,
      flash: null,
      identityUntil: 0,
      names: new NameSearches(this.random),
      mark,
      beganAt: now,
      usedAt: now,
    };
    if (this.#held.size >= sessionsMax) this.#held.delete(this.#leastMissed());
    this.#held.set(session.id, session);
    return session;
  }

  end(session: Session): void {
    this.#held.delete(session.id);
  }

  /** Uses the monotonic clock, so that setting the wall clock cannot extend a session. */
  #hasEnded({ beganAt, usedAt, mark }: Session, marks: ReadonlySet<string>): boolean {
    const now = this.clock.monotonic();
    return !marks.has(mark) || now - usedAt > idleMillisMax || now - beganAt > ageMillisMax;
  }

  /** Returns the least recently used session, first one that is not signed in: visitors cannot end users' sessions. */
  #leastMissed(): string {
    const ids = [...this.#held.values()];
    return (ids.find((session) => !session.signedIn) ?? ids[0])?.id ?? '';
  }
}
