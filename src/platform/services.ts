import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { HeaderNames } from '../wire/headers.js';
import type { PlatformEvents } from './events.js';
import type { Hazards } from './hazards.js';
import type { State } from './state/database.js';

/** What differs between deployments of the platform; everything is safe unless switched. */
export interface PlatformOptions {
  readonly headers: HeaderNames;
  /** Rate limits count only while this is on; a benchmark switches it off. */
  readonly limits: boolean;
  /** Addresses whose X-Forwarded-For is believed. Empty: nobody's. */
  readonly trustedProxies: readonly string[];
  /** Webhook targets on loopback and plain HTTP. The platform itself never allows them; a sandbox may. */
  readonly loopbackWebhooks: boolean;
  /** Installation-bound webhook endpoints may be created. */
  readonly boundEndpoints: boolean;
  /** One delivery per matched installation; off: one per event. */
  readonly deliverPerInstallation: boolean;
  /** Where people are sent to sign in; the server's own address unless told. */
  readonly publicUrl: string | null;
  /** How long a change waits for the publisher. Zero: it is published before the call that made it answers. */
  readonly publishDelayMillis: number;
}

/** Handed to every feature. Nothing else is reachable from a handler. */
export interface Services {
  readonly state: State;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly options: PlatformOptions;
  readonly events: PlatformEvents;
  readonly hazards: Hazards;
}
