import type { CatchUp, StoredRows } from './ports.js';
import type { Drift } from './receipt.js';

export interface SettleParts {
  readonly stored: Pick<StoredRows, 'mark' | 'isUnchangedSince'>;
  readonly catchUp: CatchUp;
  /** Waits before catching up again, so that recent changes on the platform have time to be published. */
  readonly pause: () => Promise<void>;
  /** Called at once for each finding, so that findings made before a budget ran out are not lost. */
  readonly found: (settled: Settled) => void;
}

export interface Settled {
  readonly drift: readonly Drift[];
  /** False when the source changed in every round: the last differences are neither confirmed nor ruled out. */
  readonly settled: boolean;
}

/** A source that changes within each of five rounds of a second or two changes all the time. */
export const roundsMax = 5;

/**
 * Compares until the result is reliable. Equality is always reliable. A difference counts only when the mirror did
 * not change around it: if catching up afterwards brings no change, the mirror already stored everything published when
 * the platform was asked. Otherwise the comparison is repeated, at most `roundsMax` times.
 */
export async function settle(
  { stored, catchUp, pause, found }: SettleParts,
  ask: () => Promise<readonly Drift[]>,
): Promise<void> {
  for (let round = 1; ; round += 1) {
    const before = await stored.mark();
    const drift = await ask();
    if (drift.length === 0) return;
    await pause();
    await catchUp();
    const settled = await stored.isUnchangedSince(before);
    if (settled || round === roundsMax) return found({ drift, settled });
  }
}
