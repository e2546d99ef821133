import type {
  About,
  ChangeKind,
  CollectionColumns,
  CompanyColumns,
  DriftColumns,
  EndedBy,
  IdentityColumns,
  NoticeColumns,
  QuarantineColumns,
  RecordColumns,
  RoundColumns,
  RoundStatColumns,
  TickColumns,
  UpdateColumns,
  Versioned,
} from './schema-columns.js';

/* The views of the mirror. They are public. */

interface Keyed {
  source: string;
  id: string;
}

interface Named {
  company_name: string | null;
  round_name: string | null;
}

export interface InvestmentsView extends Keyed, RecordColumns, Named {
  valid_from: string;
  change_seq: number;
}

export interface CompaniesView extends Keyed, CompanyColumns, Versioned {}

export interface CompanyHistoryView extends CompaniesView {
  valid_to: string;
  ended_by: 'update' | 'removed';
}

export interface RoundsView extends Keyed, RoundColumns, Versioned, Pick<Named, 'company_name'> {}

export interface RoundHistoryView extends RoundsView {
  valid_to: string;
  ended_by: 'update' | 'removed';
}

export interface CompanyUpdatesView extends Keyed, UpdateColumns, Versioned, Pick<Named, 'company_name'> {}

export interface RoundStatsView extends RoundStatColumns, Named {
  source: string;
}

export interface CollectionsView extends CollectionColumns {
  source: string;
}

export interface IdentitiesView extends Keyed, IdentityColumns {}

export interface InvestmentHistoryView extends Keyed, RecordColumns, Named {
  valid_from: string;
  change_seq: number;
  valid_to: string;
  ended_by: EndedBy;
}

export interface ChangesView extends Named {
  seq: number;
  source: string;
  id: string | null;
  kind: ChangeKind | `${About}_${Exclude<ChangeKind, 'snapshot'>}`;
  fields: string;
  reason: string | null;
  at: string;
  /** JSON. */
  before: string | null;
  /** JSON. */
  after: string | null;
}

export interface TicksView extends TickColumns {
  source: string;
}

export interface NoticesView extends NoticeColumns {
  source: string;
}

export interface QuarantineView extends QuarantineColumns {
  source: string;
}

export interface DriftView extends DriftColumns {
  source: string;
}
