import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import { identityRules, openMirror } from '../daemon/open-mirror.js';
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
  return withPauses(config, clock, async (pauses) => {
    await pauses.pause(sources, instantFromMillis(clock.now()));
    return await pauses.list();
  });
}

export interface Resumed {
  /** The names of the sources whose pause ended. */
  readonly resumed: readonly string[];
  readonly stillPaused: readonly PausedSource[];
}

/** Ends the pause of these sources, or of all. */
export function resume(config: Config, sources: readonly string[] | null, clock: Clock): Promise<Resumed> {
  return withPauses(config, clock, async (pauses) => ({
    resumed: await pauses.resume(sources),
    stillPaused: await pauses.list(),
  }));
}

async function withPauses<Result>(
  config: Config,
  clock: Clock,
  work: (pauses: Pauses) => Promise<Result>,
): Promise<Result> {
  const ledger = new ForgottenLedger(config.forget.ledger);
  const parts = { clock, ledger, logger: silentLogger, ...identityRules(config) };
  const mirror = await openMirror(config.database, parts);
  try {
    return await work(mirror.pauses);
  } finally {
    await mirror.close();
  }
}
