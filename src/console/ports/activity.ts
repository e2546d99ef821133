import type { OverallState } from '../../domain/overall-state.js';
import type { SourceHealth, StatusSeen } from '../ports.js';
import type { MirroredSeen } from './sources.js';

export interface SourceSeen extends SourceHealth {
  readonly meaning: string;
  /** Further problems of the source, as sentences without a full stop. */
  readonly concerns: readonly { readonly code: string; readonly text: string }[];
  readonly pages_incoming: number;
  readonly listing_started_at: string | null;
  readonly identity_included: 0 | 1 | null;
  /** Why names are incomplete; null when they are complete. */
  readonly names_note: string | null;
  readonly cursor_age_seconds: number | null;
  readonly cursor_days_left: number | null;
  readonly cursor_old: boolean;
  readonly last_tick_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
  /** The end of a wait for the platform or for the request quota. */
  readonly retry_at: string | null;
  /** Null when the quota is not tracked, or before the first request. */
  readonly quota: QuotaSeen | null;
}

/** One source with its last ticks. */
export interface SourcePageSeen extends SourceSeen, MirroredSeen {
  readonly at: string;
  readonly overall: OverallState;
  /** `listed` in the configuration, created by a follow rule, or only left in the mirror. */
  readonly origin: 'listed' | 'followed' | 'unlisted';
  readonly erase_after: string | null;
  readonly erased_at: string | null;
  readonly ticks: readonly TickSeen[];
}

export interface QuotaSeen {
  readonly limit: number;
  readonly left: number;
  /** The end of the quota's window. */
  readonly resets_at: string;
}

/** What operators need: sources, queues and what happened last. */
export interface OperationsSeen extends StatusSeen {
  readonly sources: readonly SourceSeen[];
  readonly inbox: StatusSeen['inbox'] & { readonly oldest_at: string | null };
  readonly notices: StatusSeen['notices'] & { readonly oldest_at: string | null };
  readonly alerts: StatusSeen['alerts'] & { readonly oldest_at: string | null };
  readonly erasures: { readonly pending: number; readonly since: string | null; readonly residue: boolean };
  readonly activity: ActivitySeen;
}

export interface ActivitySeen {
  readonly ticks: readonly TickSeen[];
  readonly deliveries: readonly DeliverySeen[];
  readonly quarantine: readonly QuarantinedSeen[];
  readonly notices: readonly NoticeSeen[];
  readonly erasures: readonly ErasureSeen[];
}

export interface TickSeen {
  readonly tick: number;
  readonly source: string;
  readonly trigger: string;
  readonly mode: string;
  readonly started_at: string;
  readonly took_ms: number;
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly quarantined: number;
  readonly outcome: string;
  readonly code: string | null;
}

export interface DeliverySeen {
  readonly event_id: string;
  readonly event: string;
  readonly source: string | null;
  readonly investment: string | null;
  /** What the company and the round of the investment are called. */
  readonly company_name: string | null;
  readonly round_name: string | null;
  readonly test: 0 | 1;
  readonly received_at: string;
  readonly state: string;
  readonly attempts: number;
  readonly worked_at: string | null;
}

export interface QuarantinedSeen {
  readonly source: string;
  readonly id: string | null;
  readonly problem: string;
  readonly seen_at: string;
}

export interface NoticeSeen {
  readonly source: string;
  readonly seq: number;
  readonly target: string;
  readonly queued_at: string;
  readonly state: string;
  readonly attempts: number;
  readonly delivered_at: string | null;
  readonly last_error: string | null;
}

export interface ErasureSeen {
  readonly source: string | null;
  readonly id: string | null;
  readonly cause: string;
  readonly invisible_at: string;
  readonly scrubbed_at: string | null;
}
