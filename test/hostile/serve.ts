import { once } from 'node:events';
import { openHostilePlatform } from './platform.js';

export interface HostileAddresses {
  /** Behind it: the place of a shape among all of them, and where it is met. */
  readonly baseUrl: string;
}

/* A hostile platform in a process of its own, until the parent lets go of it. */
const platform = await openHostilePlatform();
process.send?.({ baseUrl: platform.baseUrl } satisfies HostileAddresses);
await once(process, 'disconnect');
await platform.close();
