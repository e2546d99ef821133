import type { Chance } from './chance.js';

export interface Grant {
  readonly access: string;
  readonly expiresAt: number;
  used: boolean;
}

interface Pair extends Grant {
  readonly refresh: string;
}

/**
 * One sign-in. A static one has a single access token. A rotating one returns a new pair for a refresh token, and
 * that refresh token stays valid until the new access token is first used.
 */
export class Account {
  readonly clientId: string;
  readonly clientSecret = 'sk_test_secret';
  identity = true;
  /** Whether the token may read companies, rounds and posts. */
  catalog = true;
  /** Whether its owner may read the stats of a round. */
  stats = true;
  revoked = false;
  /** The platform's own count, in windows that begin with a request. */
  windowStart = Number.NEGATIVE_INFINITY;
  spent = 0;
  /** By other programs, or by a network that sent a request twice. */
  spentByOthers = 0;
  #live: Pair;
  /** Issued and not used yet: at most one, because a further refresh voids the previous pair. */
  #next: Pair | null = null;

  constructor(
    readonly name: string,
    readonly rotating: boolean,
    readonly chance: Chance,
    now: number,
    /** The lifetime of an access token. */
    readonly accessMillis: number,
  ) {
    this.clientId = `pk_${name}`;
    this.#live = this.#pair(now);
  }

  get current(): { readonly access: string; readonly refresh: string; readonly expiresAt: number } {
    return this.#live;
  }

  /**
   * Returns whether this access token is accepted now. Its first use voids the refresh token it came from.
   */
  admits(access: string, now: number): boolean {
    if (this.revoked) return false;
    if (this.#next !== null && access === this.#next.access) {
      this.#live = this.#next;
      this.#next = null;
    }
    return access === this.#live.access && (!this.rotating || now < this.#live.expiresAt);
  }

  refresh(token: string, now: number): Pair | undefined {
    if (this.revoked || !this.rotating) return undefined;
    if (this.#next !== null && token === this.#next.refresh) {
      this.#live = this.#next;
      this.#next = null;
    }
    if (token !== this.#live.refresh) return undefined;
    this.#next = this.#pair(now);
    return this.#next;
  }

  /** A person signed in again, or an administrator issued a new token. */
  renew(now: number): void {
    this.revoked = false;
    this.#live = this.#pair(now);
    this.#next = null;
  }

  #pair(now: number): Pair {
    const tail = this.chance.text(16);
    return {
      access: `at_test_${tail}`,
      refresh: `rt_test_${tail}`,
      expiresAt: now + this.accessMillis,
      used: false,
    };
  }
}
