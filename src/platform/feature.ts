import type { Closable } from '../runtime/lifecycle.js';
import type { Route } from './http/route.js';
import type { Services } from './services.js';

/** One folder of the platform: what it answers, and what it does besides answering. */
export interface Feature {
  readonly routes: readonly Route[];
  /** Control calls of its own, below `/_sandbox`; only a sandbox serves them. */
  readonly sandboxRoutes?: readonly Route[];
  /** Subscribes to events and starts its loops; closed with the platform. */
  start?(services: Services): Closable;
}
