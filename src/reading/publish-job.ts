import type { Clock } from '../runtime/clock.js';
import { systemRandom } from '../runtime/random.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { syncLake } from './lake.js';
import { publishExports } from './publish-exports.js';
import type { Published, PublishJob } from './publish-messages.js';

/** Writes scheduled exports, or brings a lake up to date. */
export async function publish(
  location: DatabaseLocation,
  job: PublishJob,
  clock: Clock,
  signal: AbortSignal,
): Promise<Published> {
  if (job.kind === 'lake') return { kind: 'lake', made: await syncLake(location, job.ask, clock, signal) };
  const parts = { clock, signal, random: systemRandom };
  return { kind: 'exports', made: await publishExports(location, job.ask, parts) };
}
