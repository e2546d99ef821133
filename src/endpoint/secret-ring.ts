import type { Secret } from '../config/secrets.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';

/** How often secrets are read again. The old secret stays valid for 24 hours after a rotation. */
const rereadMillis = 30_000;

/** An unknown signature makes a host look for what another one stored, at most this often: anyone can send one. */
const unknownMillis = 1_000;

/** Secrets of the endpoint that the daemons manage. */
export interface ManagedSecrets {
  /** Whether other hosts rotate them, too. */
  readonly shared: boolean;
  secrets(): readonly string[];
  /** Reads what another host may have stored. Never throws. */
  reread(): Promise<void>;
}

const noneManaged: ManagedSecrets = { shared: false, secrets: () => [], reread: async () => {} };

/**
 * The signing secrets, available synchronously for every request. Configured secrets are read again periodically in the
 * background. Secrets of the endpoint that the daemon manages come first, because they are the newest.
 */
export class SecretRing {
  #values: readonly string[] = [];
  #readAt = 0;
  #reading: Promise<void> | null = null;
  #looking: Promise<void> | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly secrets: readonly Secret[],
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly managed: ManagedSecrets = noneManaged,
  ) {}

  /**
   * Reads the configured secrets. Throws when one cannot be read (see `Secret`), so that the daemon does not start
   * without it.
   */
  async load(): Promise<void> {
    this.#values = await Promise.all(this.secrets.map((secret) => secret.reveal()));
    this.#readAt = this.clock.monotonic();
  }

  values(): readonly string[] {
    if (this.clock.monotonic() - this.#readAt > rereadMillis) void this.#read();
    return [...this.managed.secrets(), ...this.#values];
  }

  /** Reads the secrets again. When one cannot be read, logs a warning and keeps the previous ones. */
  async reread(): Promise<void> {
    // A reading that started before this call may have seen the old file.
    await this.#reading;
    await this.#read();
  }

  #read(): Promise<void> {
    this.#reading ??= Promise.all([this.load(), this.managed.reread()])
      .then(() => {})
      .catch((error: unknown) => {
        this.#readAt = this.clock.monotonic();
        this.logger.warn({ error }, 'a signing secret cannot be read; the ones read before stay in use');
      })
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  /**
   * For a delivery that no secret verifies: waits for a running reading, or looks for secrets that another host stored,
   * and returns the secrets. Null when there was nothing to wait for.
   */
  async newest(): Promise<readonly string[] | null> {
    const reading = this.#reading ?? this.#lookElsewhere();
    if (reading === null) return null;
    await reading;
    return [...this.managed.secrets(), ...this.#values];
  }

  #lookElsewhere(): Promise<void> | null {
    if (!this.managed.shared) return null;
    const now = this.clock.monotonic();
    if (this.#looking === null && now - this.#lookedAt < unknownMillis) return null;
    this.#lookedAt = now;
    this.#looking ??= this.managed.reread().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }
}
