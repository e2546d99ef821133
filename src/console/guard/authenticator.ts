import { createHmac, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import type { Random } from '../../runtime/random.js';
import type { Refusals } from './refusals.js';

/** How people prove who they are. Secrets are read when wanted, so that a rotated one counts without a restart. */
export type ConsoleAuth =
  | { readonly kind: 'token'; readonly token: () => Promise<string> }
  | { readonly kind: 'basic'; readonly user: string; readonly password: () => Promise<string> };

export type Admission = 'admitted' | 'refused' | 'slow down';

export interface DoorParts {
  readonly auth: ConsoleAuth;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A command that prints a secret may take a second; it need not do so for each scrape of the metrics. */
const secretMillis = 30_000;
/** Before a credential is refused, the secret is read again unless it was read this recently: it may have been rotated. */
const rereadMillis = 5_000;

interface Reading {
  readonly of: Promise<Buffer>;
  readonly startedAt: number;
  failed: boolean;
}

/**
 * Judges credentials. Each one is compared first, in constant time, and only a wrong one is counted: however many
 * strangers guess, the right credential is admitted at once. What protects against guessing is its length.
 */
export class Door {
  /** Digests under a key of this process have one length whatever was typed, and say nothing outside of it. */
  readonly #key: Buffer;
  #reading: Reading | undefined;
  #mark: string | undefined;

  constructor(private readonly parts: DoorParts) {
    this.#key = parts.random.bytes(32);
  }

  get kind(): ConsoleAuth['kind'] {
    return this.parts.auth.kind;
  }

  /** Reads the secret again before it is next compared, not when its time is up. */
  reread(): void {
    this.#reading = undefined;
  }

  /** Judges an `Authorization` header; undefined when it has not the scheme that is configured. */
  async judgeHeader(header: string | undefined): Promise<Admission | undefined> {
    const [scheme, value = ''] = (header ?? '').split(' ', 2);
    const wanted = this.kind === 'token' ? 'bearer' : 'basic';
    if (scheme?.toLowerCase() !== wanted) return undefined;
    return await this.judge(wanted === 'basic' ? Buffer.from(value, 'base64').toString() : value);
  }

  /** Judges a token, or `user:password`. Throws `usage` when the secret cannot be read. */
  async judge(credential: string): Promise<Admission> {
    const given = this.#digest(credential);
    if (timingSafeEqual(given, await this.#expected(secretMillis))) return 'admitted';
    if (timingSafeEqual(given, await this.#expected(rereadMillis))) return 'admitted';
    return this.parts.refusals.count();
  }

  /**
   * Returns a text that is the same for as long as the credential is. While the secret cannot be read, the one read
   * last stays in force for those who are in. Throws `usage` when it could never be read.
   */
  async mark(): Promise<string> {
    try {
      await this.#expected(secretMillis);
    } catch (error) {
      if (this.#mark === undefined) throw error;
    }
    return this.#mark ?? '';
  }

  #expected(ageMillisMax: number): Promise<Buffer> {
    const now = this.parts.clock.monotonic();
    const last = this.#reading;
    const ageMax = last?.failed === true ? rereadMillis : ageMillisMax;
    if (last !== undefined && now - last.startedAt < ageMax) return last.of;
    const reading: Reading = { of: this.#read(), startedAt: now, failed: false };
    reading.of.catch(() => {
      reading.failed = true;
    });
    this.#reading = reading;
    return reading.of;
  }

  async #read(): Promise<Buffer> {
    try {
      const digest = this.#digest(await credentialOf(this.parts.auth));
      this.#mark = digest.toString('hex');
      return digest;
    } catch (error) {
      this.parts.logger.error({ error }, 'the secret of the console cannot be read');
      // Where it is kept is not for those who have not signed in.
      throw new Fault('usage', 'the sign-in cannot be checked now', {
        hint: 'the log of rosterd says why',
        cause: error,
      });
    }
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

async function credentialOf(auth: ConsoleAuth): Promise<string> {
  return auth.kind === 'token' ? await auth.token() : `${auth.user}:${await auth.password()}`;
}
