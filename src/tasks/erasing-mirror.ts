import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import { openMirror } from '../daemon/open-mirror.js';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import type { Awaitable } from '../store/erasures.js';

/** Opens the mirror for one erasure. Never creates a mirror. */
export async function withErasingMirror<Result>(
  { database, identity, forget: { ledger: ledgerFile } }: Config,
  clock: Clock,
  signal: AbortSignal,
  work: (mirror: OpenMirror, ledger: ForgottenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = new ForgottenLedger(ledgerFile);
  const parts = { clock, identity, ledger, logger: silentLogger, existing: true };
  const mirror = await retriedWhileBusy(clock, signal, () => openMirror(database, parts));
  try {
    return await work(mirror, ledger);
  } finally {
    await mirror.close();
  }
}

/** Another process finishes a page, a publication or a scrub within this time, except in the largest mirrors. */
const busyTimeoutMillis = 30_000;
const retryMillis = 200;

/** Retries while another process writes, so that a forget request need not be repeated. */
export async function retriedWhileBusy<Result>(
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Awaitable<Result>,
): Promise<Result> {
  const until = clock.monotonic() + busyTimeoutMillis;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isFault(error, 'database_busy') || signal.aborted || clock.monotonic() >= until) throw error;
    }
    await clock.wait(retryMillis, signal);
  }
}
