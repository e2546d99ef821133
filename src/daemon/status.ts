import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { MirrorPlace } from '../store/place.js';
import { type FleetMember, readFleet } from '../store/reads/fleet.js';
import { type Ask, inSnapshot, type Snapshots } from '../store/reads/snapshot.js';
import {
  readStatus,
  type StatusDocument,
  type StatusWanted,
  staleMillisDefault,
} from '../store/reads/status.js';
import { blockedHealth, type EndpointHealth, readEndpointState } from './endpoint-state.js';

export type { SourceStatus, StatusDocument } from '../store/reads/status.js';
export type { EndpointHealth } from './endpoint-state.js';

/** The mirror, and the webhook endpoint the daemon looks after; null when it looks after none, or has not yet. */
export interface FullStatus extends StatusDocument {
  readonly endpoint: EndpointHealth | null;
  /** The daemons that share the database; null where it is one's alone. */
  readonly fleet: readonly FleetMember[] | null;
}

/**
 * What the mirror says of itself. With the configuration also of sources that never ran, of the webhook endpoint,
 * and with its interval as the measure of what is stale.
 */
export async function statusOf(
  place: MirrorPlace | Snapshots,
  clock: Clock,
  config?: Config | null,
): Promise<FullStatus> {
  const shared = ('kind' in place ? place : config?.database)?.kind === 'postgres';
  const read = async (ask: Ask) => ({
    ...(await readStatus(ask, clock, statusWanted(config))),
    fleet: shared ? await readFleet(ask) : null,
  });
  const document = 'take' in place ? await place.take(read) : await inSnapshot(place, read);
  return { ...document, endpoint: await endpointHealth(config?.receiver?.endpoint?.file ?? null, clock) };
}

export function statusWanted(config: Config | null | undefined): StatusWanted {
  // Quiet sources are looked at less often, and that is no reason to call them stale.
  const { intervalSeconds = 0, idleIntervalSeconds = 0 } = config?.sync ?? {};
  return {
    staleMillis: Math.max(staleMillisDefault, 3_000 * Math.max(intervalSeconds, idleIntervalSeconds)),
    configured: config?.sources.map(({ name }) => name) ?? [],
  };
}

async function endpointHealth(file: string | null, clock: Clock): Promise<EndpointHealth | null> {
  if (file === null) return null;
  try {
    return (await readEndpointState(file)).health;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return blockedHealth(null, error, clock.now());
  }
}
