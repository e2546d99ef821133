import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../runtime/clock.js';

/** How people prove who they are. Secrets are read when wanted, so that a rotated one counts without a restart. */
export type ConsoleAuth =
  | { readonly kind: 'token'; readonly token: () => Promise<string> }
  | { readonly kind: 'basic'; readonly user: string; readonly password: () => Promise<string> };

export type Admission = 'admitted' | 'refused' | 'slow down';

/** Wrong answers an address may give in a minute, before it has to wait for the next one. */
const failuresMax = 10;
const windowMillis = 60_000;
/** Whoever comes from more addresses than this is throttled together. */
const addressesMax = 1_000;
/** A command that prints a secret may take a second; it need not do so for each scrape of the metrics. */
const secretMillis = 30_000;

/** Judges credentials in constant time, and few of them from one address. */
export class Door {
  readonly #auth: ConsoleAuth;
  readonly #clock: Clock;
  readonly #failures = new Map<string, number>();
  #windowStart = 0;
  #digest: { readonly of: Promise<Buffer>; readonly readAt: number } | undefined;

  constructor(auth: ConsoleAuth, clock: Clock) {
    this.#auth = auth;
    this.#clock = clock;
  }

  get kind(): ConsoleAuth['kind'] {
    return this.#auth.kind;
  }

  /** Of an `Authorization` header; undefined when there is none of the kind asked for here. */
  async judgeHeader(header: string | undefined, address: string): Promise<Admission | undefined> {
    const [scheme, value = ''] = (header ?? '').split(' ', 2);
    const wanted = this.#auth.kind === 'token' ? 'bearer' : 'basic';
    if (scheme?.toLowerCase() !== wanted) return undefined;
    return await this.judge(wanted === 'basic' ? Buffer.from(value, 'base64').toString() : value, address);
  }

  /** Of a token, or of `user:password`. */
  async judge(credential: string, address: string): Promise<Admission> {
    if (this.#failuresOf(address) >= failuresMax) return 'slow down';
    const right = timingSafeEqual(digest(credential), await this.#expected());
    if (!right) this.#failures.set(this.#bucket(address), this.#failuresOf(address) + 1);
    return right ? 'admitted' : 'refused';
  }

  #failuresOf(address: string): number {
    const now = this.#clock.now();
    if (now - this.#windowStart >= windowMillis) {
      this.#failures.clear();
      this.#windowStart = now;
    }
    return this.#failures.get(this.#bucket(address)) ?? 0;
  }

  #bucket(address: string): string {
    return this.#failures.has(address) || this.#failures.size < addressesMax ? address : '';
  }

  #expected(): Promise<Buffer> {
    const now = this.#clock.now();
    if (this.#digest === undefined || now - this.#digest.readAt >= secretMillis) {
      const of = credentialOf(this.#auth).then(digest);
      // A secret that could not be read is read again the next time.
      of.catch(() => {
        this.#digest = undefined;
      });
      this.#digest = { of, readAt: now };
    }
    return this.#digest.of;
  }
}

async function credentialOf(auth: ConsoleAuth): Promise<string> {
  return auth.kind === 'token' ? await auth.token() : `${auth.user}:${await auth.password()}`;
}

/** Of one length whatever was typed, so that comparing takes the same time. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
