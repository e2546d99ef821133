import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { verify } from '../../../src/tasks/verify.js';
import { type MirrorOptions, mirrorConfig } from './mirror-config.js';

export type VerifierOptions = MirrorOptions;

/** Verifies beside the daemon, as `rosterd verify --full` does. */
export async function startVerifier(options: VerifierOptions) {
  const config = mirrorConfig(options, { receiver: null, console: null });
  const stopping = new AbortController();
  return {
    /** Compares every record of one source. Returns the number of differences. */
    verify: async (source: number): Promise<number> => {
      const sources = config.sources.slice(source, source + 1);
      const parts = { config, sources, clock: systemClock, random: systemRandom, logger: silentLogger };
      const ask = { sample: 0, seed: 1, full: true, repair: false, calls: 1_000_000 };
      const { sources: receipts } = await verify(parts, ask, stopping.signal);
      const [receipt] = receipts;
      if (receipt?.full === null || receipt === undefined)
        throw new Error(`the source was not verified: ${receipt?.ended?.message ?? ''}`);
      return receipt.drift.length;
    },
    close: async (): Promise<void> => stopping.abort(),
  };
}
