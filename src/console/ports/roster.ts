import type { Instant } from '../../domain/instant.js';
import type { PastOverviewSeen } from './overview.js';

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
  /** Part of the name of a round or company. Reads no identity. */
  readonly named?: string;
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
  /** Reads the versions of this time, with the names of companies and rounds of then. Names of people are those stored now. */
  readonly asOf?: Instant;
}

export interface RosterSeen {
  readonly rows: readonly RosterRow[];
  /** The number of matching rows, counted up to `countMax`. */
  readonly count: number;
  readonly countMax: number;
  /** Sources that the mirror did not have yet at the time the rows show. */
  readonly younger: PastOverviewSeen['younger'];
  /** Sources some of whose people have no name yet, until a listing completes them; empty without `identity`. */
  readonly completingNames: readonly string[];
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
