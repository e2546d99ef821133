import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { nothingApplied } from '../sync/ports.js';
import type { TickResult } from '../sync/tick-parts.js';
import type { Engine } from './engine.js';

/** Returns, for each source that an operator has paused, the result of a tick that is not run. */
export async function pausedResults(
  { mirror }: Pick<Engine, 'mirror'>,
  clock: Clock,
): Promise<ReadonlyMap<string, TickResult>> {
  const paused = await mirror.pauses.list();
  return new Map(paused.map(({ source, paused_at }) => [source, pausedResult(paused_at, clock.now())]));
}

function pausedResult(since: string, now: number): TickResult {
  return {
    report: {
      trigger: 'manual',
      mode: 'none',
      startedAt: instantFromMillis(now),
      tookMs: 0,
      pages: 0,
      applied: nothingApplied,
      outcome: 'stopped',
      code: 'stopped',
      retryAt: null,
      message: `paused since ${since}; to go on: rosterd resume`,
    },
    phase: null,
    publishedThrough: null,
    grant: 'not_asked',
    recorded: false,
  };
}
