import type { Instant } from '../../domain/instant.js';
import type { OperationsSeen, SourcePageSeen } from './activity.js';
import type { CompanySeen } from './company.js';
import type { CompanyTotals, OverviewSeen, PastCompanies, PastOverviewSeen } from './overview.js';
import type { FileFormat, QueryFormat, QueryReading, QuerySeen, ReadyQuery, RelationSeen } from './query.js';
import type { RecordSeen, RosterSeen, RosterWanted } from './roster.js';
import type { SourcesSeen, SourcesWanted } from './sources.js';

/**
 * The data of the dashboard. All reads are async, because the mirror may be behind a socket. Those that can take long end
 * when the client is `gone`, and throw `stopped`.
 */
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
  overviewAsOf(at: Instant, gone: AbortSignal): Promise<PastOverviewSeen>;
  companies(): Promise<readonly CompanyTotals[]>;
  /** Returns null when the source has no investment in that company. */
  company(source: string, company: string | null, gone: AbortSignal): Promise<CompanySeen | null>;
  companiesAsOf(at: Instant, gone: AbortSignal): Promise<PastCompanies>;
  /** Returns null when the mirror has nothing of that company, not even now. */
  companyAsOf(
    source: string,
    company: string | null,
    at: Instant,
    gone: AbortSignal,
  ): Promise<CompanySeen | null>;
  roster(wanted: RosterWanted, gone: AbortSignal): Promise<RosterSeen>;
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
