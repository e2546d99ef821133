import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import { type Logger, silentLogger } from '../runtime/logger.js';
import { type Random, systemRandom } from '../runtime/random.js';
import { headerNames } from '../wire/headers.js';
import { PlatformEvents } from './events.js';
import { type Hazards, noHazards } from './hazards.js';
import { type Route, Router } from './http/route.js';
import { createPlatformServer, type Interceptor } from './http/server.js';
import type { PlatformOptions, Services } from './services.js';
import { openState } from './state/database.js';

export interface PlatformSettings {
  /** Default `:memory:`. Give a file to keep the data across restarts. */
  readonly dataFile?: string;
  /** The serialized database of another platform, to begin with a copy of it in memory. */
  readonly image?: Buffer;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly options?: Partial<PlatformOptions>;
  readonly hazards?: Hazards;
}

/** The strict defaults of the platform. A sandbox overrides some of them. */
const strictOptions: PlatformOptions = {
  headers: headerNames(),
  limits: true,
  trustedProxies: [],
  loopbackWebhooks: 'nobody',
  boundEndpoints: true,
  deliverPerInstallation: true,
  publicUrl: null,
  publishDelayMillis: 0,
};

export function createServices(settings: PlatformSettings = {}): Services {
  return {
    state: openState(settings.dataFile ?? ':memory:', settings.image),
    clock: settings.clock ?? systemClock,
    random: settings.random ?? systemRandom,
    logger: settings.logger ?? silentLogger,
    options: { ...strictOptions, ...settings.options },
    events: new PlatformEvents(),
    hazards: settings.hazards ?? noHazards,
  };
}

export interface Listening extends Closable {
  readonly url: string;
}

/** Starts the server. Default loopback; port 0 selects a free port. */
export async function listen(
  services: Services,
  routes: readonly Route[],
  interceptors: readonly Interceptor[],
  at: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = createPlatformServer(services, new Router(routes), interceptors);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = at.host.includes(':') ? `[${at.host}]` : at.host;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
