import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import { type Clock, systemClock } from '../../runtime/clock.js';
import { type Closable, Lifecycle } from '../../runtime/lifecycle.js';
import type { Logger } from '../../runtime/logger.js';
import { type Random, seededRandom } from '../../runtime/random.js';
import { headerNames } from '../../wire/headers.js';
import { featuresOf } from '../features.js';
import { Problem } from '../http/problem.js';
import { Router } from '../http/route.js';
import { createServices, listen } from '../platform.js';
import type { PlatformOptions, Services } from '../services.js';
import { type MovableClock, movableClock } from './clock.js';
import { controlRoutes } from './control/routes.js';
import { SlicedCalls } from './control/sliced-calls.js';
import type { ReadyDocument } from './document.js';
import { Faults } from './faults.js';
import { controlPath, RequestLedger } from './requests.js';
import { startRoutes } from './start/routes.js';
import { RecentTraffic } from './start/traffic.js';
import { openWorld, type World } from './world.js';

export interface SandboxOptions {
  /** Default loopback and a free port, because the control API has no authentication. */
  readonly listen?: { readonly host: string; readonly port: number };
  readonly dataFile?: string;
  /** The serialized database of another sandbox, to begin with a copy of it in memory instead of seeding a world. */
  readonly image?: Buffer;
  readonly seed?: number;
  readonly companies?: number;
  readonly records?: number;
  /** Share of the companies that have the application installed; default 1. */
  readonly installed?: number;
  /** A file of JSON Lines with further companies, rounds and investments. Absolute. */
  readonly importFile?: string;
  /** Called while the file is imported, with the number of investments so far. */
  readonly onImport?: (investments: number) => void;
  readonly headerPrefix?: string;
  readonly requestIdHeader?: string;
  readonly limits?: boolean;
  /** Lets the API create webhook endpoints on loopback, which the platform refuses. The control call always does. */
  readonly allowLoopbackWebhooks?: boolean;
  /** The clock that the movable clock is based on. */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Randomness for new ids and churn; default the system's. The seeded world depends only on `seed`. */
  readonly random?: Random;
  readonly platform?: Partial<PlatformOptions>;
}

export interface Sandbox extends Closable {
  readonly url: string;
  readonly ready: ReadyDocument;
  readonly services: Services;
  readonly clock: MovableClock;
  readonly world: World;
}

/** Starts a platform with a seeded world. Sandboxes in one process share no state. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const parts = new Lifecycle();
  try {
    const clock = movableClock(options.clock ?? systemClock);
    const faults = new Faults();
    const requests = new RequestLedger();
    const traffic = new RecentTraffic(clock);
    const services = createServices({
      dataFile: options.dataFile ?? ':memory:',
      clock,
      hazards: faults,
      ...defined({ image: options.image, random: options.random, logger: options.logger }),
      options: {
        headers: headerNames(options.headerPrefix, options.requestIdHeader),
        limits: options.limits ?? true,
        loopbackWebhooks: options.allowLoopbackWebhooks === true ? 'everyone' : 'control',
        ...options.platform,
      },
    });
    parts.add('database', () => {
      services.state.close();
    });
    const world = openWorld(services.state, clock, options, seededRandom, (investments) =>
      options.onImport?.(investments),
    );
    const features = featuresOf(services, options.clock ?? systemClock);
    for (const feature of features) {
      const running = feature.start?.(services);
      if (running !== undefined) parts.add('feature', () => running.close());
    }
    const calls = new SlicedCalls(services);
    parts.add('control calls', () => calls.close());
    let url = '';
    const ready = (): ReadyDocument => ({
      event: 'ready',
      baseUrl: url,
      control: `${url}${controlPath}`,
      ...world.document,
    });
    const reset = () => {
      resetWorld(world);
      calls.end('The sandbox was reset.');
      faults.clear();
      requests.clear();
      traffic.clear();
    };
    services.events.onAttempt((attempt) => traffic.attempted(attempt));
    const routes = features.flatMap((feature) => [...feature.routes, ...(feature.sandboxRoutes ?? [])]);
    const controlled = { clock, faults, requests, calls, ready, reset };
    parts.add('faults', () => faults.close());
    const start = startRoutes({ clock, faults, traffic, ready, reset, api: new Router(routes) });
    const server = await listen(
      services,
      [...routes, ...controlRoutes(controlled), ...start],
      [faults, requests, traffic],
      options.listen ?? { host: '127.0.0.1', port: 0 },
    );
    url = server.url;
    parts.add('server', () => server.close());
    return {
      url,
      ready: ready(),
      services,
      clock,
      world,
      close: () => parts.close(),
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

/** The file of an import is read again; if that fails, the world stays as it is. */
function resetWorld(world: World): void {
  try {
    world.reset();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Problem(409, 'conflict', `The sandbox could not return to the seed. ${error.message}`, {
      ...defined({ remediation: error.about.hint }),
    });
  }
}
