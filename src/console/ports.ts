/** What the console tells of a source. The store's status document has this and more. */
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
  readonly last_error_code: string | null;
  readonly quarantine_open: number;
  readonly awaiting_deletion: number;
  readonly names_incomplete: 0 | 1;
  /** Whether a configuration names it. */
  readonly followed: boolean;
}

/** What the running process knows to be wrong with itself. `ill`: it cannot do its work. */
export interface ProblemSeen {
  readonly key: string;
  readonly severity: 'attention' | 'ill';
  readonly text: string;
  readonly since: string;
  readonly source?: string;
}

export interface StatusSeen {
  readonly at: string;
  readonly health: SourceHealth['health'];
  readonly sources: readonly SourceHealth[];
  readonly inbox: { readonly pending: number; readonly given_up: number };
  readonly notices: { readonly pending: number; readonly given_up: number };
  readonly erasures: { readonly pending: number };
  readonly change_seq: number;
  readonly problems: readonly ProblemSeen[];
}

/** Counters of the running process, by name; nothing in them names a person. */
export interface ProcessCounts {
  readonly deliveries: Readonly<Record<string, number>>;
  /** Of the receiver; null when there is none. */
  readonly connections: {
    readonly waiting: number;
    readonly resting: number;
    readonly busy: number;
    /** Held of bodies not yet answered. */
    readonly bytes: number;
    readonly closed: Readonly<Record<string, number>>;
  } | null;
  readonly clockSkewSeconds: number;
  /** This daemon's place among those that share the database; null where it is alone by nature. */
  readonly fleet: { readonly living: number; readonly held: number; readonly leads: boolean } | null;
  /** By source; those that nobody counts for are not there. */
  readonly quotas: Readonly<Record<string, { readonly limit: number; readonly left: number }>>;
  /** Null where the database is not a file of this machine. */
  readonly storage: {
    readonly databaseBytes: number;
    readonly logBytes: number;
    readonly freeBytes: number;
  } | null;
}

export interface ConsoleSource {
  /** The whole status document; rejects with a `Fault` when the mirror cannot be read. */
  status(): Promise<StatusSeen>;
  counts(): Promise<ProcessCounts>;
  /** From memory: known also while the mirror cannot be read. */
  problems(): readonly ProblemSeen[];
}
