import type { Instant } from '../../domain/instant.js';
import type { SourceHealth, StatusSeen } from '../ports.js';
import type { MirroredSeen, SourceStateSeen, SourcesSeen, SourcesWanted } from './sources.js';

/** The data of the dashboard. All reads are async, because the mirror may be behind a socket. */
export interface DashboardSource {
  /** Names the platform that is mirrored, in a word or two. */
  readonly mirrorOf: string;
  /** What the owner of a company asks first: money, investors, this week, and the latest changes. */
  overview(): Promise<OverviewSeen>;
  operations(): Promise<OperationsSeen>;
  sources(wanted: SourcesWanted): Promise<SourcesSeen>;
  /** Returns null for a name that no source has. */
  source(name: string): Promise<SourcePageSeen | null>;
  /** Throws `usage` when the history does not reach back to `at`, as do all readings of the past. */
  overviewAsOf(at: Instant): Promise<PastOverviewSeen>;
  companies(): Promise<readonly CompanyTotals[]>;
  /** Returns null when the source has no investment in that company. */
  company(source: string, company: string | null): Promise<CompanySeen | null>;
  roster(wanted: RosterWanted): Promise<RosterSeen>;
  /** Returns null when the mirror never had the record. Reads personal data only with `identity`. */
  record(source: string, id: string, identity: boolean): Promise<RecordSeen | null>;
  /** Passes all matching rows to `take`, as the text of a file in pieces from one snapshot. */
  rosterFile(
    wanted: Pick<RosterWanted, 'filter' | 'identity' | 'asOf'>,
    format: FileFormat,
    take: (pieces: AsyncIterable<string>) => Promise<void>,
  ): Promise<void>;
  readonly queries: readonly ReadyQuery[];
  /** Throws `usage` for SQL that is invalid, writes, is too slow or too large, or reads identity without `identity`. */
  query(sql: string, reading: QueryReading, signal: AbortSignal): Promise<QuerySeen>;
  /** Returns the whole result as a file. Ends with an error, never truncated, when it is too long or too slow. */
  queryFile(
    sql: string,
    format: QueryFormat,
    reading: QueryReading,
    signal: AbortSignal,
  ): Promise<AsyncIterable<string | Uint8Array>>;
  readonly sqlDialect: 'sqlite' | 'postgres';
  /** The public tables and views, as the data dictionary describes them. */
  readonly relations: readonly RelationSeen[];
  readonly queryLimits: {
    readonly seconds: number;
    readonly rows: number;
    readonly fileRows: number;
    readonly megabytes: number;
    readonly fileMegabytes: number;
  };
  /** Calls `listener` when the data may have changed. Returns a function that stops this. */
  onChange(listener: () => void): () => void;
}

/** What a query may read: identity or not, the audit log or not, the present or a past state. */
export interface QueryReading {
  readonly identity: boolean;
  /** False refuses `audit_log` and `operator_requests`, which only operators may read. */
  readonly audit: boolean;
  readonly asOf?: Instant;
}

export type FileFormat = 'csv' | 'jsonl';
export type QueryFormat = FileFormat | 'parquet' | 'xlsx';

export interface RelationSeen {
  readonly name: string;
  readonly meaning: string;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly meaning: string;
    readonly null_when: string | null;
  }[];
}

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
  readonly overall: SourceStateSeen;
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

export interface OverviewSeen extends StatusSeen {
  readonly sources: readonly Omit<SourceSeen, 'quota'>[];
  /** The companies with the most investments: all of them where they are few. */
  readonly companies: readonly CompanyFigures[];
  readonly companies_count: number;
  /** The sums over all companies of each currency, the one with the most investments first. */
  readonly all: readonly CurrencyFigures[];
  /** The two weeks that the figures compare, as days in UTC. */
  readonly weeks: Weeks;
  /** The newest changes, latest first. */
  readonly changes: readonly ChangeSeen[];
}

/** Seven days that end with today, and the seven before. */
export interface Weeks {
  readonly from: string;
  readonly to: string;
  readonly beforeFrom: string;
  readonly beforeTo: string;
}

/** The figures of one company in one currency. */
export interface CompanyFigures extends CompanyTotals {
  readonly investors: number;
  /** Current investments of the week and of the one before, by the day the investor applied. */
  readonly week: Sums;
  readonly weekBefore: Sums;
}

/** The figures of all companies in one currency. Without investors: one may have invested in several companies. */
export interface CurrencyFigures extends Amounts {
  readonly week: Sums;
  readonly weekBefore: Sums;
}

export type Sums = Omit<Amounts, 'currency'>;

/** Columns and their values; without unknown fields, which may be personal. */
export type ChangedValues = Readonly<Record<string, unknown>>;

/** A change with what its investment, company or round is called. */
export interface ChangeSeen {
  readonly seq: number;
  readonly at: string;
  readonly source: string;
  readonly kind: string;
  readonly id: string | null;
  /** The columns that changed; those of identity begin with `identity.`. */
  readonly fields: readonly string[];
  /** Null as in the view `changes`. */
  readonly before: ChangedValues | null;
  readonly after: ChangedValues | null;
  readonly company_id: string | null;
  readonly company_name: string | null;
  readonly offering_id: string | null;
  readonly round_name: string | null;
  readonly currency: string | null;
  /** The title of a post. */
  readonly title: string | null;
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

/** The mirror as it was at a past time. */
export interface PastOverviewSeen {
  readonly totals: readonly (CompanyTotals & { readonly status: string })[];
  /** Sources that the mirror did not have yet. */
  readonly younger: readonly { readonly source: string; readonly from: string }[];
  /** The number of the newest change of then; 0 before the first. */
  readonly change_seq: number;
  /** The newest changes of then, latest first. */
  readonly changes: readonly ChangeSeen[];
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

export interface Amounts {
  readonly currency: string | null;
  readonly investments: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export interface CompanyTotals extends Amounts {
  readonly source: string;
  readonly company_id: string | null;
  readonly company_name: string | null;
}

export interface CompanySeen {
  /** What the company is called; null when nothing names it. */
  readonly name: string | null;
  readonly byStatus: readonly (Amounts & { readonly status: string })[];
  readonly byRound: readonly (Amounts & {
    readonly offering_id: string | null;
    readonly round_name: string | null;
    readonly in_escrow_cents: number;
  })[];
  readonly byDay: readonly (Amounts & { readonly day: string })[];
  /** Withdrawn investments, counted by the day they left and by the day the investor applied. */
  readonly leftByDay: readonly DayCount[];
  readonly goneByDay: readonly DayCount[];
  readonly largest: readonly LargeChange[];
  /** One row for each currency of the current investments. */
  readonly figures: readonly CompanyFigures[];
  readonly weeks: Weeks;
  readonly rounds: readonly RoundSeen[];
}

/** A round as the platform describes it; null for what it does not say. */
export interface RoundSeen {
  readonly id: string;
  readonly name: string | null;
  readonly status: string | null;
  readonly testing_the_waters: 0 | 1 | null;
  readonly currency: string | null;
  readonly target_cents: number | null;
  readonly max_target_cents: number | null;
  readonly min_investment_cents: number | null;
  readonly opened_at: string | null;
  readonly closes_at: string | null;
  readonly closed_at: string | null;
}

/** Withdrawn investments of one day. */
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
  readonly round_name: string | null;
  readonly currency: string | null;
  readonly before_cents: number;
  readonly after_cents: number;
}

/** The filter of a roster. A row must match every given part. */
export interface RosterFilter {
  readonly source?: string;
  readonly company?: string;
  readonly round?: string;
  readonly status?: string;
  /** An id or its beginning: of the investment, its investor, its round or its company. */
  readonly id?: string;
  /** Part of a name or email, or of the name of a round or company. Reads identity. */
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

/** The position after a page: the last row and its value of the order column. */
export interface RosterPosition {
  readonly value: string | number | null;
  readonly id: string;
  readonly source: string;
}

export interface RosterWanted {
  readonly filter: RosterFilter;
  readonly order: RosterOrder;
  readonly descending: boolean;
  readonly after: RosterPosition | null;
  readonly rowsMax: number;
  /** Adds names and emails to the rows. */
  readonly identity: boolean;
  /** Reads the versions of this time; names are those stored now. */
  readonly asOf?: Instant;
}

export interface RosterSeen {
  readonly rows: readonly RosterRow[];
  /** The number of matching rows, counted up to `countMax`. */
  readonly count: number;
  readonly countMax: number;
  /** Sources that the mirror did not have yet at the time the rows show. */
  readonly younger: PastOverviewSeen['younger'];
  readonly choices: readonly {
    readonly source: string;
    readonly company_id: string | null;
    readonly company_name: string | null;
    readonly offering_id: string | null;
    readonly round_name: string | null;
    readonly status: string;
  }[];
}

export interface RosterRow {
  readonly source: string;
  readonly id: string;
  readonly company_id: string | null;
  readonly offering_id: string | null;
  readonly company_name: string | null;
  readonly round_name: string | null;
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
  /** Newest first; a current version has no end. Cells by column, without identity. */
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
  /** Sources that the mirror did not have yet at the time the query reads. */
  readonly younger: PastOverviewSeen['younger'];
}
