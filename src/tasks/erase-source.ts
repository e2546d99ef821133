import type { Config } from '../config/config.js';
import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import { afterErasing, type ErasedReceipt, retriedWhileBusy, withMirror } from './erasure-steps.js';

export interface SourceErasedReceipt extends ErasedReceipt {
  readonly source: string;
  /** Number of rows deleted by the last attempt; 0 when nothing was stored of the source. */
  readonly rows: number;
}

/**
 * Erases a source: everything stored of it, then its bytes, the scheduled exports with names, and the people of the
 * configured lake. May be repeated after a crash. Throws `lease_lost` while another process works the source.
 */
export function eraseSource(
  config: Config,
  source: SourceName,
  clock: Clock,
  signal: AbortSignal,
): Promise<SourceErasedReceipt> {
  return withMirror(config, clock, signal, async (mirror) => {
    // Each slice is a commit of its own: an attempt continues what the one before, which found the database busy, began.
    const { rows } = await retriedWhileBusy(clock, signal, () => mirror.eraser.erase(source));
    return { source, rows, ...(await afterErasing(config, mirror, clock, signal)) };
  });
}
