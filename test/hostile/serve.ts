import { once } from 'node:events';
import { openHostilePlatform } from './platform.js';

export interface HostileAddresses {
  /** Followed by the index of a shape and the request that meets it. */
  readonly baseUrl: string;
}

/* Runs a hostile platform in its own process until the parent disconnects. */
const platform = await openHostilePlatform();
process.send?.({ baseUrl: platform.baseUrl } satisfies HostileAddresses);
await once(process, 'disconnect');
await platform.close();
