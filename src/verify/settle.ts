import type { CatchUp, HeldRows } from './ports.js';
import type { Drift } from './receipt.js';

export interface SettleParts {
  readonly held: Pick<HeldRows, 'mark'>;
  readonly catchUp: CatchUp;
  /** Before catching up again, so that what was just decided on the platform has time to be published. */
  readonly pause: () => Promise<void>;
  /** Told at once, so that what was found before a budget ended is not lost with the rest. */
  readonly found: (settled: Settled) => void;
}

export interface Settled {
  readonly drift: readonly Drift[];
  /** False when the source changed in every round: what differed last is neither named nor ruled out. */
  readonly settled: boolean;
}

/** A source that changes within each of five rounds of a second or two changes all the time. */
const roundsMax = 5;

/**
 * Compares until the answer holds. Equal is equal. A difference counts only when the mirror stood still around it:
 * when catching up afterwards brings not one change, all that was published by the time the platform was asked was
 * held already. Otherwise it is asked again, `roundsMax` times at most.
 */
export async function settle(
  { held, catchUp, pause, found }: SettleParts,
  ask: () => Promise<readonly Drift[]>,
): Promise<void> {
  for (let round = 1; ; round += 1) {
    const before = await held.mark();
    const drift = await ask();
    if (drift.length === 0) return;
    await pause();
    await catchUp();
    const settled = (await held.mark()) === before;
    if (settled || round === roundsMax) return found({ drift, settled });
  }
}
