import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import { openMirror } from '../daemon/open-mirror.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import type { PausedSource, Pauses } from '../store/pauses.js';

export type { PausedSource } from '../store/pauses.js';

/** Pauses sources until `resume`, also across restarts. Returns every paused source. */
export function pause(
  config: Config,
  sources: readonly string[],
  clock: Clock,
): Promise<readonly PausedSource[]> {
  return withPauses(config, clock, (pauses) => pauses.pause(sources, instantFromMillis(clock.now())));
}

/** Ends the pause of these sources, or of all. Returns the sources that are still paused. */
export function resume(
  config: Config,
  sources: readonly string[] | null,
  clock: Clock,
): Promise<readonly PausedSource[]> {
  return withPauses(config, clock, (pauses) => pauses.resume(sources));
}

async function withPauses(
  { database, identity, forget }: Config,
  clock: Clock,
  work: (pauses: Pauses) => Promise<void>,
): Promise<readonly PausedSource[]> {
  const ledger = new ForgottenLedger(forget.ledger);
  const mirror = await openMirror(database, { clock, identity, ledger, logger: silentLogger });
  try {
    await work(mirror.pauses);
    return await mirror.pauses.list();
  } finally {
    await mirror.close();
  }
}
