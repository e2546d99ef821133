import type { Instant } from '../../domain/instant.js';
import type { PastOverviewSeen } from './overview.js';

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
