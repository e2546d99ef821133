import { createHmac } from 'node:crypto';
import type { Clock } from '../../runtime/clock.js';

/** How long to cache a secret: a command that prints it may take a second, too long for every metrics scrape. */
export const secretMillis = 30_000;
/** Before rejecting a credential, the secret is read again unless its last reading is younger: it may be rotated. */
export const rereadMillis = 5_000;

interface Reading {
  readonly of: Promise<Buffer>;
  readonly startedAt: number;
  failed: boolean;
}

export interface KnownSecretParts {
  readonly read: () => Promise<string>;
  /** The key of the digests, which have one length for every input and are worthless outside this process. */
  readonly key: Buffer;
  readonly clock: Clock;
  readonly onFailed: (error: unknown) => void;
}

/** A secret as a digest, read at use and cached for a moment, so that a rotated one takes effect without a restart. */
export class KnownSecret {
  #reading: Reading | undefined;
  #last: Buffer | null = null;

  constructor(private readonly parts: KnownSecretParts) {}

  /** The digest that was read last; null when the secret could never be read. */
  get last(): Buffer | null {
    return this.#last;
  }

  /** Makes the next use read the secret again. */
  reread(): void {
    this.#reading = undefined;
  }

  /** Returns the digest, read again when its last reading is older than `ageMillisMax`. Rejects when it cannot be read. */
  digest(ageMillisMax: number): Promise<Buffer> {
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
      this.#last = digestOf(await this.parts.read(), this.parts.key);
      return this.#last;
    } catch (error) {
      this.parts.onFailed(error);
      throw error;
    }
  }
}

export const digestOf = (text: string, key: Buffer): Buffer =>
  createHmac('sha256', key).update(text).digest();
