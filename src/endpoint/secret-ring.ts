import type { Secret } from '../config/secrets.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';

/** How soon a rotated file or command is noticed. The old secret signs for 24 hours more. */
const rereadMillis = 30_000;

/**
 * Signing secrets as the receiver wants them: at once, for every request. Those of the configuration are read again
 * now and then, in the background; those the daemon looks after itself come first, being the newest.
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

  /** Throws `usage` when one cannot be read: better no start than deliveries refused for days. */
  async load(): Promise<void> {
    this.#values = await Promise.all(this.secrets.map((secret) => secret.reveal()));
    this.#readAt = this.clock.monotonic();
  }

  values(): readonly string[] {
    if (this.clock.monotonic() - this.#readAt > rereadMillis) void this.#read();
    return [...this.managed(), ...this.#values];
  }

  /** Reads them again. When one cannot be read, the log says so and those read before stay in use. */
  async reread(): Promise<void> {
    // One that began before this call may have seen a file that was replaced since.
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

  /** For a delivery that none of them signed: when a reading is under way, the newest after it; null when none is. */
  async newest(): Promise<readonly string[] | null> {
    if (this.#reading === null) return null;
    await this.#reading;
    return [...this.managed(), ...this.#values];
  }
}
