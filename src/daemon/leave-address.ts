import { rm } from 'node:fs/promises';
import type { Config } from '../config/config.js';
import { sentenceOf } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { addressFile, writeAddress } from '../reading/daemon-address.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';

export interface LeaveAddressParts {
  readonly config: Pick<Config, 'database' | 'forget'>;
  readonly url: string;
  readonly key: string;
  readonly clock: Clock;
  readonly health: HealthRegister;
  readonly logger: Logger;
}

/** The disk may have been full when the daemon started. */
const retryMillis = 30_000;
const healthKey = 'address';

/**
 * Leaves the file with which `rosterd status` finds this daemon; `close` deletes it. A file that cannot be written is reported
 * and written again later: without it, `status` reads the database alone and misses what the daemon could not store.
 */
export async function leaveAddress(parts: LeaveAddressParts): Promise<Closable> {
  const { config, clock, health, logger } = parts;
  const file = addressFile(config, parts);
  if (file === null) return { close: async () => {} };
  const write = async (): Promise<boolean> => {
    try {
      await writeAddress(file, config, parts);
      health.clear(healthKey);
      return true;
    } catch (error) {
      const why = sentenceOf(error, `${file} cannot be written`);
      if (!health.list().some(({ key }) => key === healthKey))
        logger.warn({ error, file }, 'the address of this daemon could not be left for `rosterd status`');
      health.attention(
        healthKey,
        `\`rosterd status\` cannot ask this daemon: ${why}`,
        instantFromMillis(clock.now()),
      );
      return false;
    }
  };
  const stopping = new AbortController();
  const repeat = async (): Promise<void> => {
    do await clock.wait(retryMillis, stopping.signal);
    while (!stopping.signal.aborted && !(await write()));
  };
  const repeating = (await write()) ? null : repeat();
  return {
    close: async () => {
      stopping.abort();
      await repeating;
      await rm(file, { force: true });
    },
  };
}
