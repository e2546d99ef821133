import type { OverallState } from '../domain/overall-state.js';

/** What the console shows of a source: a part of the store's status document. */
export interface SourceHealth {
  readonly source: string;
  readonly health: 'ok' | 'working' | 'failing' | 'attention';
  readonly state: string;
  /** 1 once a complete dataset is visible. */
  readonly readable: 0 | 1;
  readonly rows: number;
  readonly rows_incoming: number;
  readonly complete_up_to: string | null;
  readonly cursor_saved_at: string | null;
  readonly cursor_expires_at: string | null;
  readonly last_success_at: string | null;
  readonly last_outcome: string | null;
  /** Until when the last tick asked to wait; null when it did not. */
  readonly retry_at: string | null;
  readonly last_error_code: string | null;
  readonly quarantine_open: number;
  readonly awaiting_deletion: number;
  readonly names_incomplete: 0 | 1;
  /** When an operator paused the source; null when it is not paused. */
  readonly paused_at: string | null;
  /** Whether a configuration names the source. */
  readonly followed: boolean;
  readonly webhook_spacing: SpacingSeen | null;
  /** How far the listing in progress is, in words; null when there is none. */
  readonly listing: { readonly text: string; readonly rows_expected: number | null } | null;
}

/** Figures over all sources, also where only some are described. */
export interface SourceCountsSeen {
  readonly sources: number;
  /** Sources without a complete dataset, except disconnected ones. */
  readonly unreadable: number;
  /** The `unreadable` ones that keep the daemon from being ready: those that no follow rule created. */
  readonly not_ready: number;
  readonly rows: number;
  readonly oldest_success_at: string | null;
  readonly by_state: Readonly<Record<OverallState, number>>;
}

/** How far apart the ticks that webhooks ask for are, and why. Null for a source that this daemon does not follow. */
export interface SpacingSeen {
  readonly reason: 'plenty' | 'scarce' | 'spent' | 'backing_off' | 'halted';
  readonly gap_seconds: number;
  /** How long a webhook that arrives now waits for its tick. */
  readonly wait_seconds: number;
  readonly quota: {
    readonly of: 'token' | 'address';
    readonly limit: number;
    readonly left: number;
    readonly resets_at: string;
    /** How many sources divide what is left now, and how many of these other daemons follow. */
    readonly shared_by: number;
    readonly shared_elsewhere: number;
  } | null;
}

/** A problem that the running process reports about itself. `ill` means that it cannot do its work. */
export interface ProblemSeen {
  readonly key: string;
  readonly severity: 'attention' | 'ill';
  readonly text: string;
  readonly since: string;
  readonly source?: string;
}

/** Work on the database that ticks wait for. */
export interface WaitSeen {
  readonly key: string;
  readonly text: string;
  readonly since: string;
}

export interface StatusSeen {
  readonly at: string;
  readonly health: SourceHealth['health'];
  readonly counts: SourceCountsSeen;
  /** Whether `sources` has only the worst of them. */
  readonly truncated: boolean;
  readonly sources: readonly SourceHealth[];
  readonly inbox: { readonly pending: number; readonly given_up: number };
  readonly notices: { readonly pending: number; readonly given_up: number };
  readonly alerts: { readonly pending: number; readonly given_up: number };
  readonly erasures: { readonly pending: number };
  readonly change_seq: number;
  readonly problems: readonly ProblemSeen[];
  readonly waits: readonly WaitSeen[];
  /** The scheduled backups; null when the configuration has no schedule. */
  readonly backup: { readonly newest_at: string | null; readonly count: number } | null;
  /** The scheduled exports; null when the configuration has no schedule. */
  readonly exports: { readonly newest_at: string | null; readonly count: number } | null;
  /** The lake that is kept on a schedule; null when the configuration has none. */
  readonly lake: { readonly synced_at: string | null } | null;
}

/** Counters of the running process; none of them names a person. */
export interface ProcessCounts {
  readonly deliveries: Readonly<Record<string, number>>;
  /** Connections of the receiver; null without one. */
  readonly connections: {
    readonly waiting: number;
    readonly resting: number;
    readonly busy: number;
    /** Bytes in memory of bodies not yet answered. */
    readonly bytes: number;
    readonly closed: Readonly<Record<string, number>>;
  } | null;
  readonly clockSkewSeconds: number;
  /** The fleet that shares the database; null when the database supports only one daemon. */
  readonly fleet: { readonly living: number; readonly held: number; readonly leads: boolean } | null;
  /** By source, of those that were asked for; without sources whose quota is not tracked. */
  readonly quotas: Readonly<Record<string, { readonly limit: number; readonly left: number }>>;
  /** Null when the database is not a file on this machine. */
  readonly storage: {
    readonly databaseBytes: number;
    readonly logBytes: number;
    readonly freeBytes: number;
  } | null;
}

export interface ConsoleSource {
  /**
   * The status document; rejects with a `Fault` when the mirror cannot be read. `sourcesMax` replaces the number of
   * sources that it describes.
   */
  status(sourcesMax?: number): Promise<StatusSeen>;
  /** `sources` are those whose quota is wanted. */
  counts(sources: readonly string[]): Promise<ProcessCounts>;
  /** Returns the problems in memory, also while the mirror cannot be read. */
  problems(): readonly ProblemSeen[];
  /** Returns the work on the database that ticks wait for now. */
  waits(): readonly WaitSeen[];
  /** Returns the spacing of webhook ticks, by source: of one source, or of those that wait longest. */
  spacings(source: string | null): Readonly<Record<string, SpacingSeen>>;
  /** Returns the last lines of the log, which contain no identity and no secret. */
  log(): readonly string[];
}
