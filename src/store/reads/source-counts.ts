import { type OverallState, overallStates } from '../../domain/overall-state.js';
import type { JudgedSource } from './source-facts.js';

/** Figures over all sources, also where a document names only some of them. */
export interface SourceCounts {
  readonly sources: number;
  /** Sources with a complete dataset. */
  readonly readable: number;
  /** Sources without a complete dataset, except disconnected and erased ones. */
  readonly unreadable: number;
  /**
   * The `unreadable` ones that no follow rule created. An installation adds a source at any time, which must not take
   * the daemon out of service, so only these keep it from being ready.
   */
  readonly not_ready: number;
  /** Visible rows of all sources. */
  readonly rows: number;
  /** The oldest of the last successes of the sources that are followed and not paused; null without one. */
  readonly oldest_success_at: string | null;
  /** Sources by overall state. */
  readonly by_state: Readonly<Record<OverallState, number>>;
}

export function countSources(sources: readonly JudgedSource[]): SourceCounts {
  const byState = Object.fromEntries(overallStates.map((state) => [state, 0])) as Record<
    OverallState,
    number
  >;
  let readable = 0;
  let unreadable = 0;
  let notReady = 0;
  let rows = 0;
  let oldest: string | null = null;
  for (const source of sources) {
    byState[source.overall] += 1;
    rows += source.rows;
    if (source.readable === 1) readable += 1;
    else if (source.overall !== 'disconnected' && source.overall !== 'erased') {
      unreadable += 1;
      if (source.follow === null) notReady += 1;
    }
    const { last_success_at: success } = source;
    const counts = success !== null && source.followed && source.paused_at === null;
    if (counts && (oldest === null || success < oldest)) oldest = success;
  }
  return {
    sources: sources.length,
    readable,
    unreadable,
    not_ready: notReady,
    rows,
    oldest_success_at: oldest,
    by_state: byState,
  };
}
