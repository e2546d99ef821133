import type { Clock } from '../../runtime/clock.js';
import { type Random, randomText } from '../../runtime/random.js';

/** What is remembered of one browser, in memory only: a restart forgets it, and nothing of it reaches a disk. */
export interface Session {
  readonly id: string;
  /** Stands in every form of ours; a page elsewhere cannot know it. */
  readonly csrf: string;
  signedIn: boolean;
  /** Until when names are shown in this browser; 0 when they are masked. */
  identityUntil: number;
  /** Part of a name somebody searched for: kept here because an address ends up in histories and logs. */
  person: string;
  usedAt: number;
}

const idleMillisMax = 12 * 60 * 60_000;
const sessionsMax = 500;

export class Sessions {
  /** In the order of use. */
  readonly #held = new Map<string, Session>();

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  get(id: string | undefined): Session | undefined {
    const session = id === undefined ? undefined : this.#held.get(id);
    if (session === undefined) return undefined;
    this.#held.delete(session.id);
    if (this.clock.now() - session.usedAt > idleMillisMax) return undefined;
    session.usedAt = this.clock.now();
    this.#held.set(session.id, session);
    return session;
  }

  begin(signedIn: boolean): Session {
    const session: Session = {
      ...{ id: randomText(this.random, 32), csrf: randomText(this.random, 32), signedIn },
      ...{ identityUntil: 0, person: '', usedAt: this.clock.now() },
    };
    if (this.#held.size >= sessionsMax) this.#held.delete(this.#leastMissed());
    this.#held.set(session.id, session);
    return session;
  }

  end(session: Session): void {
    this.#held.delete(session.id);
  }

  /** The one used longest ago, of those that did not sign in if there are any: visitors cannot push people out. */
  #leastMissed(): string {
    const ids = [...this.#held.values()];
    return (ids.find((session) => !session.signedIn) ?? ids[0])?.id ?? '';
  }
}
