import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { readStatus, type StatusDocument, staleMillisDefault } from '../store/reads/status.js';
import { blockedHealth, type EndpointHealth, readEndpointState } from './endpoint-state.js';

export type { SourceStatus, StatusDocument } from '../store/reads/status.js';
export type { EndpointHealth } from './endpoint-state.js';

/** The mirror, and the webhook endpoint the daemon looks after; null when it looks after none, or has not yet. */
export interface FullStatus extends StatusDocument {
  readonly endpoint: EndpointHealth | null;
}

const ticksShown = 5;

/** What the mirror says of itself; sources that are configured and never ran are not in it yet. */
export async function statusOf(
  file: string,
  clock: Clock,
  endpointFile: string | null = null,
  intervalSeconds = 0,
): Promise<FullStatus> {
  const staleMillis = Math.max(staleMillisDefault, 3 * intervalSeconds * 1_000);
  const document = await readMirror(file, (db) => readStatus(db, clock, ticksShown, staleMillis));
  return { ...document, endpoint: await endpointHealth(endpointFile, clock) };
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
