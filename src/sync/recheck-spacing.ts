/**
 * Minimum spacing between ticks that check a token or grant again. A single announcement starts a tick immediately. Each
 * such tick moves the next one further away, up to five seconds, and every five quiet seconds take one such step back:
 * announcements without end would otherwise use up the hourly quota in minutes.
 */
export interface RecheckSpacing {
  /** Rechecks not yet worked off by quiet time, when the last of them ended. */
  readonly level: number;
  /** When that tick ended, on the monotonic clock. */
  readonly endedAt: number;
}

export const noRecheck: RecheckSpacing = { level: 0, endedAt: Number.NEGATIVE_INFINITY };

const gapMillisMax = 5_000;
/** Indexed by level; higher levels use the last entry. */
const gapsMillis = [0, 0, 250, 500, 1_000, 2_000, 3_000, 4_000, gapMillisMax] as const;
const levelMax = gapsMillis.length - 1;

/** Returns the spacing after a recheck that ended at `endedAt`. */
export function afterRecheck(before: RecheckSpacing, endedAt: number): RecheckSpacing {
  const recovered = (endedAt - before.endedAt) / gapMillisMax;
  return { level: Math.min(levelMax, Math.max(0, before.level - recovered) + 1), endedAt };
}

/** Returns when the next recheck may start a tick. */
export function recheckDueAt({ level, endedAt }: RecheckSpacing): number {
  return endedAt + (gapsMillis[Math.round(level)] ?? gapMillisMax);
}
