/**
 * How far apart ticks are that webhooks asked for. A lone one is worked at once, and what comes during its tick at
 * once after it. But a platform that announces something every moment would have a tick begin whenever the one
 * before is over, and eat the quota of an hour in minutes. So every nudged tick moves the next one a little further
 * away, up to five seconds, and every five quiet seconds take one such step back: 720 requests of the 1,000 an hour
 * has, no announcement waits longer than five seconds, and one that follows five quiet seconds does not wait at all.
 */
export interface NudgeSpacing {
  /** Nudged ticks not yet forgiven, when the last of them was over. */
  readonly level: number;
  /** When that was, on the monotonic clock. */
  readonly endedAt: number;
}

export const quiet: NudgeSpacing = { level: 0, endedAt: Number.NEGATIVE_INFINITY };

const gapMillisMax = 5_000;
/** By level; the last holds for all above. */
const gapsMillis = [0, 0, 250, 500, 1_000, 2_000, 3_000, 4_000, gapMillisMax] as const;
const levelMax = gapsMillis.length - 1;

/** Counts a tick that a nudge asked for, and that was over at `endedAt`. */
export function afterNudgedTick(before: NudgeSpacing, endedAt: number): NudgeSpacing {
  const forgiven = (endedAt - before.endedAt) / gapMillisMax;
  return { level: Math.min(levelMax, Math.max(0, before.level - forgiven) + 1), endedAt };
}

/** The earliest moment at which the next nudge is worked. */
export function nudgeDueAt({ level, endedAt }: NudgeSpacing): number {
  return endedAt + (gapsMillis[Math.round(level)] ?? gapMillisMax);
}
