import type { OverallState } from '../../domain/overall-state.js';
/** Which sources a page lists. */
export interface SourcesWanted {
  /** Part of a name, of the company, or of an id. */
  readonly search: string;
  readonly state: OverallState | null;
  /** The name of a follow rule. */
  readonly rule: string | null;
  /** The first page is 1. */
  readonly page: number;
  readonly limit: number;
}

/** What a source mirrors. */
export interface MirroredSeen {
  readonly company_id: string | null;
  readonly company_name: string | null;
  readonly installation: string | null;
  /** The follow rule that created it; null for a source of the configuration. */
  readonly rule: string | null;
}

export interface SourceRowSeen extends MirroredSeen {
  readonly source: string;
  readonly overall: OverallState;
  readonly meaning: string;
  readonly concerns: readonly { readonly text: string }[];
  readonly rows: number;
  readonly complete_up_to: string | null;
  readonly last_tick_at: string | null;
  readonly last_error: string | null;
  readonly paused_at: string | null;
}

/** One page of the sources, the worst first. */
export interface SourcesSeen {
  readonly at: string;
  readonly sources_total: number;
  /** The sources that the search and the rule select, by state. */
  readonly by_state: Readonly<Record<OverallState, number>>;
  readonly matching: number;
  readonly page: number;
  readonly pages: number;
  readonly rules: readonly string[];
  readonly sources: readonly SourceRowSeen[];
}
