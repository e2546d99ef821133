import type { SourceHealth, StatusSeen } from '../ports.js';

/** What the dashboard asks of the rest. Everything is async: the mirror may be at the other end of a socket. */
export interface DashboardSource {
  /** Of whom this is a copy, in a word or two. */
  readonly mirrorOf: string;
  overview(): Promise<OverviewSeen>;
  companies(): Promise<readonly CompanyTotals[]>;
  /** Null when the source holds nothing of that company. */
  company(source: string, company: string | null): Promise<CompanySeen | null>;
  roster(wanted: RosterWanted): Promise<RosterSeen>;
  /** Null when it was never here. The person is read only with `identity`. */
  record(source: string, id: string, identity: boolean): Promise<RecordSeen | null>;
  /** Hands all rows that fit to `take`, as the text of a file in pieces from one snapshot. */
  rosterFile(
    wanted: Pick<RosterWanted, 'filter' | 'identity'>,
    format: FileFormat,
    take: (pieces: AsyncIterable<string>) => Promise<void>,
  ): Promise<void>;
  readonly queries: readonly ReadyQuery[];
  /** Throws `usage` for SQL that does not parse, writes, is too slow or too large, or reads people without `identity`. */
  query(sql: string, identity: boolean, signal: AbortSignal): Promise<QuerySeen>;
  /** The whole result as CSV; ends with an error, never short, when it is too long or too slow. */
  queryFile(sql: string, identity: boolean, signal: AbortSignal): Promise<AsyncIterable<string>>;
  readonly queryLimits: {
    readonly seconds: number;
    readonly rows: number;
    readonly fileRows: number;
    readonly megabytes: number;
    readonly fileMegabytes: number;
  };
  /** Told that there may be something new to see. Answers how to stop listening. */
  onChange(listener: () => void): () => void;
}

export type FileFormat = 'csv' | 'jsonl';

export interface SourceSeen extends SourceHealth {
  readonly meaning: string;
  /** What makes it worse than its state says, in sentences without their full stop. */
  readonly concerns: readonly { readonly code: string; readonly text: string }[];
  readonly pages_incoming: number;
  readonly listing_started_at: string | null;
  readonly identity_included: 0 | 1 | null;
  /** What stands in the way of complete names; null when nothing does. */
  readonly names_note: string | null;
  readonly cursor_age_seconds: number | null;
  readonly cursor_days_left: number | null;
  readonly cursor_old: boolean;
  readonly last_tick_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
  /** Until when the platform or our own budget makes it wait. */
  readonly retry_at: string | null;
  /** Null where nobody counts, or before the first request. */
  readonly quota: QuotaSeen | null;
}

export interface QuotaSeen {
  readonly limit: number;
  readonly left: number;
  /** When the window ends and all of it is there again. */
  readonly resets_at: string;
}

export interface OverviewSeen extends StatusSeen {
  readonly sources: readonly SourceSeen[];
  readonly inbox: StatusSeen['inbox'] & { readonly oldest_at: string | null };
  readonly notices: StatusSeen['notices'] & { readonly oldest_at: string | null };
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

export interface Amounts {
  readonly currency: string | null;
  readonly investments: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export interface CompanyTotals extends Amounts {
  readonly source: string;
  readonly company_id: string | null;
}

export interface CompanySeen {
  readonly byStatus: readonly (Amounts & { readonly status: string })[];
  readonly byRound: readonly (Amounts & {
    readonly offering_id: string | null;
    readonly in_escrow_cents: number;
  })[];
  readonly byDay: readonly (Amounts & { readonly day: string })[];
  /** Gone since: by the day they left, and by the day they had been made. */
  readonly leftByDay: readonly DayCount[];
  readonly goneByDay: readonly DayCount[];
  readonly largest: readonly LargeChange[];
}

/** Investments that left, counted on a day. */
export interface DayCount {
  readonly day: string;
  readonly currency: string | null;
  readonly investments: number;
}

export interface LargeChange {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly id: string;
  readonly currency: string | null;
  readonly before_cents: number;
  readonly after_cents: number;
}

/** What a roster is narrowed to. Every part that is given must hold. */
export interface RosterFilter {
  readonly source?: string;
  readonly company?: string;
  readonly round?: string;
  readonly status?: string;
  /** An id, or the beginning of one: of the investment, its investor, its round or its company. */
  readonly id?: string;
  /** Part of a name or email. Reads identities. */
  readonly person?: string;
}

export const rosterOrders = [
  'applied_at',
  'committed_cents',
  'raised_cents',
  'status',
  'observed_at',
] as const;
export type RosterOrder = (typeof rosterOrders)[number];

/** Where a page ended: its last row's value of the order, and the row. */
export interface RosterPlace {
  readonly value: string | number | null;
  readonly id: string;
  readonly source: string;
}

export interface RosterWanted {
  readonly filter: RosterFilter;
  readonly order: RosterOrder;
  readonly descending: boolean;
  readonly after: RosterPlace | null;
  readonly rowsMax: number;
  /** Names and emails beside the rows. */
  readonly identity: boolean;
}

export interface RosterSeen {
  readonly rows: readonly RosterRow[];
  /** Rows the filter leaves, counted up to `countMax`. */
  readonly count: number;
  readonly countMax: number;
  readonly choices: readonly {
    readonly source: string;
    readonly company_id: string | null;
    readonly offering_id: string | null;
    readonly status: string;
  }[];
}

export interface RosterRow {
  readonly source: string;
  readonly id: string;
  readonly company_id: string | null;
  readonly offering_id: string | null;
  readonly investor_id: string | null;
  readonly status: string;
  readonly applied_at: string | null;
  readonly observed_at: string;
  readonly currency: string | null;
  readonly committed_cents: number | null;
  readonly raised_cents: number | null;
  readonly name: string | null;
  readonly email: string | null;
}

type VersionCell = string | number | null;

export interface RecordSeen {
  /** Newest first; the current one, if it is still here, has no end. Its cells by column, none of them identity. */
  readonly versions: readonly {
    readonly valid_from: string;
    readonly valid_to: string | null;
    readonly ended_by: string | null;
    readonly cells: Readonly<Record<string, VersionCell>>;
  }[];
  readonly changes: readonly {
    readonly seq: number;
    readonly kind: string;
    readonly fields: readonly string[];
    readonly reason: string | null;
    readonly at: string;
  }[];
  readonly person: Readonly<Record<string, string | null>> | null;
}

export interface ReadyQuery {
  readonly name: string;
  readonly question: string;
  readonly sql: string;
  readonly identity: boolean;
}

export type QueryCell = null | number | bigint | string | Uint8Array;

export interface QuerySeen {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly QueryCell[])[];
  readonly truncated: boolean;
  readonly tookMs: number;
}
