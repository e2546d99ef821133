import { Fault, type FaultCode } from '../../../src/domain/fault.js';
import type { SourceName } from '../../../src/domain/ids.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { seededRandom } from '../../../src/runtime/random.js';
import type { Feed, Mirror, SyncSource } from '../../../src/sync/ports.js';
import type { TickParts } from '../../../src/sync/tick-parts.js';
import type { VirtualClock } from './virtual-clock.js';

export const acme = 'acme' as SourceName;

export function sourceOf(feed: Feed, name: SourceName = acme, fingerprint = 'f1'): SyncSource {
  return { identity: { name, fingerprint }, feed: () => feed };
}

export function partsOf(mirror: Mirror, clock: VirtualClock, seed = 1): TickParts {
  return {
    mirror,
    clock,
    random: seededRandom(seed),
    logger: silentLogger,
    holder: 'test',
    options: {
      brake: { share: 0.2, rows: 50 },
      backoff: { baseMillis: 5000, capMillis: 600_000 },
      leaseRenewMillis: 10_000,
    },
  };
}

export const never = new AbortController().signal;

/** A mirror with some methods replaced. */
export const replaced = (mirror: Mirror, over: Partial<Mirror>): Mirror =>
  new Proxy<Mirror>(mirror, {
    get: (target, name: keyof Mirror) =>
      over[name] ?? (typeof target[name] === 'function' ? target[name].bind(target) : target[name]),
  });

export const fault = (code: FaultCode, retryAt?: number) =>
  new Fault(code, 'made up', {
    hint: 'do this',
    ...(retryAt === undefined ? {} : { retryAt: instantFromMillis(retryAt) }),
  });
