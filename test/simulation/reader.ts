export interface SourceSeen {
  readonly no: number;
  readonly name: string;
  readonly state: string;
  readonly halted_from: string | null;
  readonly halted_code: string | null;
  readonly cursor: string | null;
  readonly listed_at: string | null;
  readonly rows_held: number;
  readonly generation: number;
  readonly awaiting_deletion: number;
  readonly names_incomplete: 0 | 1;
  readonly last_outcome: string | null;
  readonly since: string | null;
  readonly reached: string | null;
}

export interface RowSeen {
  readonly id: string;
  readonly text: string;
  /** 1 if a person has to accept its deletion. */
  readonly awaiting: 0 | 1;
}

/** The fence under which a source was last written, and the values a write changes. */
export interface LeaseSeen {
  readonly no: number;
  readonly fence: number;
  readonly key: string;
}

/** One consistent snapshot of a mirror. */
export interface Look {
  readonly sources: readonly SourceSeen[];
  readonly rows: ReadonlyMap<string, readonly RowSeen[]>;
  readonly key: string;
}

/** A reader beside the daemon, like an analyst's program. */
export interface Reader {
  look(): Look;
  /** Changes whenever readers may see something else. */
  key(): string;
  leases(): readonly LeaseSeen[];
  /** For a statement that both databases understand. */
  rows<Row>(sql: string): readonly Row[];
  /** Keeps one snapshot for all later reads, until it is closed. */
  hold(): void;
  close(): void;
}

export const sourcesQuery = `SELECT s.no, s.name, s.state, s.halted_from, s.halted_code, s.cursor, s.listed_at, s.rows_held, s.generation,
  s.awaiting_deletion, CASE WHEN s.identity_included = 1 AND s.names_from_generation IS NOT NULL THEN 1 ELSE 0 END AS names_incomplete,
  s.last_outcome, w.since, w.reached FROM sources s LEFT JOIN sweeps w ON w.source_no = s.no ORDER BY s.name`;

export const rowsQuery = `SELECT source, id, company_id || '|' || coalesce(group_label, '') || '|' || status || '|' || committed_cents || '|'
  || coalesce(CAST(raised_cents AS text), '') || '|' || coalesce(investor_id, '') || '|' || investor_deactivated || '|'
  || CASE WHEN name IS NULL AND email IS NULL AND message IS NULL THEN '-'
     ELSE coalesce(name, '') || '|' || coalesce(email, '') || '|' || coalesce(message, '') END AS text,
  CASE WHEN EXISTS (SELECT 1 FROM awaiting_deletion a WHERE a.id = roster.id AND a.source = roster.source) THEN 1 ELSE 0 END AS awaiting
  FROM roster`;

/** Sources with rows of a finished listing or of a previous one. */
export const leftoversQuery = `SELECT s.name FROM sources s
  WHERE (EXISTS (SELECT 1 FROM staged_rows t WHERE t.source_no = s.no)
         OR EXISTS (SELECT 1 FROM staged_pages p WHERE p.source_no = s.no))
    AND NOT EXISTS (SELECT 1 FROM listings l WHERE l.source_no = s.no AND l.pages > 0)`;

export const leasesQuery = `SELECT l.source_no AS no, l.fence, s.generation || '/' || coalesce(s.cursor, '') || '/' || s.rows_held || '/' ||
  s.pages_incoming || '/' || coalesce(s.last_tick_at, '') AS key FROM leases l JOIN sources s ON s.no = l.source_no`;
