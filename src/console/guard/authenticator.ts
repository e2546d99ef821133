import { createHmac, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import type { Random } from '../../runtime/random.js';
import type { Refusals } from './refusals.js';

/** How clients authenticate. Secrets are read at use, so that a rotated one takes effect without a restart. */
export type ConsoleAuth =
  | { readonly kind: 'token'; readonly token: () => Promise<string> }
  | { readonly kind: 'basic'; readonly user: string; readonly password: () => Promise<string> };

export type Admission = 'admitted' | 'refused' | 'slow down';

export interface AuthenticatorParts {
  readonly auth: ConsoleAuth;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How long to cache a secret: a command that prints it may take a second, too long for every metrics scrape. */
const secretMillis = 30_000;
/** Before rejecting a credential, the secret is read again unless its last reading is younger: it may be rotated. */
const rereadMillis = 5_000;

interface Reading {
  readonly of: Promise<Buffer>;
  readonly startedAt: number;
  failed: boolean;
}

/**
 * Checks credentials. Each credential is compared in constant time, and only wrong ones are counted: the right
 * credential is admitted at once even while attackers guess. Its length protects against guessing.
 */
export class Authenticator {
  /** The key of the digests, which have one length for every input and are worthless outside this process. */
  readonly #key: Buffer;
  #reading: Reading | undefined;
  #mark: string | undefined;

  constructor(private readonly parts: AuthenticatorParts) {
    this.#key = parts.random.bytes(32);
  }

  get kind(): ConsoleAuth['kind'] {
    return this.parts.auth.kind;
  }

  /** Makes the next comparison read the secret again. */
  reread(): void {
    this.#reading = undefined;
  }

  /** Checks an `Authorization` header. Returns undefined when its scheme is not the configured one. */
  async judgeHeader(header: string | undefined): Promise<Admission | undefined> {
    const [scheme, value = ''] = (header ?? '').split(' ', 2);
    const wanted = this.kind === 'token' ? 'bearer' : 'basic';
    if (scheme?.toLowerCase() !== wanted) return undefined;
    return await this.judge(wanted === 'basic' ? Buffer.from(value, 'base64').toString() : value);
  }

  /** Checks a token, or `user:password`. Throws `usage` when the secret cannot be read. */
  async judge(credential: string): Promise<Admission> {
    const given = this.#digest(credential);
    if (timingSafeEqual(given, await this.#expected(secretMillis))) return 'admitted';
    if (timingSafeEqual(given, await this.#expected(rereadMillis))) return 'admitted';
    return this.parts.refusals.count();
  }

  /**
   * Returns a text that changes when the credential changes. While the secret cannot be read, the last one that was read
   * stays valid for existing sessions. Throws `usage` when the secret could never be read.
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
      // The fault goes to a client that has not signed in, so it does not show where the secret is stored.
      throw new Fault('usage', 'the sign-in cannot be checked now', {
        hint: 'see the log of rosterd',
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
