import type { Secret } from '../config/secrets.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';

/** How often secrets are read again. The old secret stays valid for 24 hours after a rotation. */
const rereadMillis = 30_000;

/**
 * The signing secrets, available synchronously for every request. Configured secrets are read again periodically in the
 * background. Secrets of the endpoint that the daemon manages come first, because they are the newest.
 */
export class SecretRing {
  #values: readonly string[] = [];
  #readAt = 0;
  #reading: Promise<void> | null = null;

  constructor(
    private readonly secrets: readonly Secret[],
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly managed: () => readonly string[] = () => [],
  ) {}

  /** Reads the configured secrets. Throws `usage` when one cannot be read, so that the daemon does not start without it. */
  async load(): Promise<void> {
    this.#values = await Promise.all(this.secrets.map((secret) => secret.reveal()));
    this.#readAt = this.clock.monotonic();
  }

  values(): readonly string[] {
    if (this.clock.monotonic() - this.#readAt > rereadMillis) void this.#read();
    return [...this.managed(), ...this.#values];
  }

  /** Reads the secrets again. When one cannot be read, logs a warning and keeps the previous ones. */
  async reread(): Promise<void> {
    // A reading that started before this call may have seen the old file.
    await this.#reading;
    await this.#read();
  }

  #read(): Promise<void> {
    this.#reading ??= this.load()
      .catch((error: unknown) => {
        this.#readAt = this.clock.monotonic();
        this.logger.warn({ error }, 'a signing secret cannot be read; the ones read before stay in use');
      })
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  /** For a delivery that no secret verifies: waits for a running reading and returns the secrets; null when none runs. */
  async newest(): Promise<readonly string[] | null> {
    if (this.#reading === null) return null;
    await this.#reading;
    return [...this.managed(), ...this.#values];
  }
}
