import type { Config } from '../config/config.js';
import { Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';

/** Returns the fault of a start whose port another daemon of the same mirror uses; any other error unchanged. */
export async function runningAlready(error: unknown, config: Config, clock: Clock): Promise<unknown> {
  const { cause } = isFault(error, 'usage') ? error.about : {};
  if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) return error;
  const [{ askDaemons }, { locationText }] = await Promise.all([
    import('../reading/daemon-address.js'),
    import('../daemon/daemon.js'),
  ]);
  const [daemon] = (await askDaemons(config.database, config, clock)).daemons;
  if (daemon === undefined) return error;
  const where = locationText(config.database);
  return new Fault('usage', `the daemon (process ${daemon.pid}) already mirrors into ${where}`, {
    hint: 'rosterd status shows how it is; stop it before you start another one',
    cause,
  });
}
