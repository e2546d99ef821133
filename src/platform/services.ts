import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { HeaderNames } from '../wire/headers.js';
import type { PlatformEvents } from './events.js';
import type { Hazards } from './hazards.js';
import type { State } from './state/database.js';

/** Options of a platform deployment. The defaults are the safe values. */
export interface PlatformOptions {
  readonly headers: HeaderNames;
  /** Whether rate limits apply. Benchmarks turn them off. */
  readonly limits: boolean;
  /** Proxies whose X-Forwarded-For is trusted. Empty: none. */
  readonly trustedProxies: readonly string[];
  /**
   * Who may create webhook endpoints on loopback and over plain HTTP: nobody, the control API of a sandbox, or every caller.
   * Except for `nobody`, deliveries to such endpoints are sent.
   */
  readonly loopbackWebhooks: 'nobody' | 'control' | 'everyone';
  /** Allows webhook endpoints bound to an installation. */
  readonly boundEndpoints: boolean;
  /** True: one delivery per matching installation. False: one per event. */
  readonly deliverPerInstallation: boolean;
  /** URL of the sign-in pages. Null: the address of the server. */
  readonly publicUrl: string | null;
  /** Delay before a change is published. Zero: published before the call that made it returns. */
  readonly publishDelayMillis: number;
}

/** The services passed to every feature and handler. */
export interface Services {
  readonly state: State;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly options: PlatformOptions;
  readonly events: PlatformEvents;
  readonly hazards: Hazards;
}
