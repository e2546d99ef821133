import { systemClock } from '../../../src/runtime/clock.js';
import { Violation } from '../violation.js';
import type { FleetLife, RunningFleet } from './running-fleet.js';

/**
 * Far longer than the eight seconds without a heartbeat, a heartbeat and a tick: others may be hit meanwhile.
 */
const timeoutMillis = 240_000;

/** Resolves when other processes have taken over every source that this frozen process claimed last. */
export async function takenOver(world: RunningFleet, { name }: FleetLife): Promise<void> {
  const begun = systemClock.monotonic();
  while ((await lastTakenBy(world, name)) > 0) {
    if (systemClock.monotonic() - begun > timeoutMillis)
      throw new Violation(`no member took over from ${name} within ${timeoutMillis / 1000} s`);
    await systemClock.wait(100);
  }
}

async function lastTakenBy(world: RunningFleet, name: string): Promise<number> {
  const [row] = await world.rows<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       SELECT DISTINCT ON (source_no) life FROM audit_taken ORDER BY source_no, fence DESC
     ) AS newest WHERE life = '${name}'`,
  );
  return row?.count ?? 0;
}
