/**
 * Minimum spacing between ticks started by webhooks. A single webhook starts a tick immediately, and webhooks that
 * arrive during a tick start the next one right after it. A platform that sends webhooks all the time would then use
 * up the hourly quota in minutes. So each nudged tick moves the next one further away, up to five seconds, and every
 * five quiet seconds take one such step back. The result is at most 720 requests of the 1,000 an hour: no webhook
 * waits longer than five seconds, and one that follows five quiet seconds does not wait at all.
 */
export interface NudgeSpacing {
  /** Nudged ticks not yet worked off by quiet time, when the last of them ended. */
  readonly level: number;
  /** When that tick ended, on the monotonic clock. */
  readonly endedAt: number;
}

export const quiet: NudgeSpacing = { level: 0, endedAt: Number.NEGATIVE_INFINITY };

const gapMillisMax = 5_000;
/** Indexed by level; higher levels use the last entry. */
const gapsMillis = [0, 0, 250, 500, 1_000, 2_000, 3_000, 4_000, gapMillisMax] as const;
const levelMax = gapsMillis.length - 1;

/** Returns the spacing after a nudged tick that ended at `endedAt`. */
export function afterNudgedTick(before: NudgeSpacing, endedAt: number): NudgeSpacing {
  const recovered = (endedAt - before.endedAt) / gapMillisMax;
  return { level: Math.min(levelMax, Math.max(0, before.level - recovered) + 1), endedAt };
}

/** Returns when the next nudge may start a tick. */
export function nudgeDueAt({ level, endedAt }: NudgeSpacing): number {
  return endedAt + (gapsMillis[Math.round(level)] ?? gapMillisMax);
}
