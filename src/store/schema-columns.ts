import type { Generated } from 'kysely';

/* Columns that a table and a view of the mirror share, and the words they may contain. */

/** SQLite's boolean. */
export type Bit = 0 | 1;

/** Versions before 0.2 wrote `held` when the deletion brake stopped a complete listing; it is read as `relisting`. */
export type ActiveState = 'empty' | 'listing' | 'relisting' | 'held' | 'sweeping' | 'following';

export type SourceState = ActiveState | 'halted';

export interface RecordColumns {
  company_id: string | null;
  offering_id: string | null;
  investor_id: string | null;
  status: string;
  group_label: string | null;
  investment_type: string | null;
  offering_type: string | null;
  applied_at: string | null;
  currency: string | null;
  committed_cents: number | null;
  investment_size_cents: number | null;
  in_escrow_cents: number | null;
  raised_cents: number | null;
  shares: string | null;
  average_share_price: string | null;
  needs_whitelisting: Bit;
  visible: Bit;
  converted_to: string | null;
  converted_from: string | null;
  investor_deactivated: Bit;
  via_entity: Bit;
  /** JSON. */
  blockers: string;
  /** JSON. */
  contracts: string;
  observed_at: string;
  reason: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface IdentityColumns {
  name: string | null;
  legal_name: string | null;
  email: string | null;
  address_line: string | null;
  city: string | null;
  state: string | null;
  postal_code: string | null;
  country: string | null;
  bio: string | null;
  message: string | null;
  external_username: string | null;
  email_hidden: Bit;
  extra: string | null;
}

export type EndedBy = 'update' | 'tombstone' | 'relist';
export type ChangeKind = 'snapshot' | 'added' | 'changed' | 'removed';
export type About = 'company' | 'round' | 'update';

export interface CompanyColumns {
  name: string | null;
  slug: string | null;
  url: string | null;
  status: string | null;
  currency: string | null;
  tagline: string | null;
  city: string | null;
  state: string | null;
  country: string | null;
  current_round_id: string | null;
  raised_cents: number | null;
  profile_raised_cents: number | null;
  reported_elsewhere_cents: number | null;
  /** JSON. */
  reported_rounds: string;
  unavailable: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface RoundColumns {
  company_id: string | null;
  name: string | null;
  kind: string | null;
  exemption: string | null;
  status: string | null;
  testing_the_waters: Bit | null;
  currency: string | null;
  target_cents: number | null;
  max_target_cents: number | null;
  min_investment_cents: number | null;
  raised_cents_reported: number | null;
  investor_count_reported: number | null;
  opened_at: string | null;
  closes_at: string | null;
  closed_at: string | null;
  /** JSON. */
  terms: string | null;
  unavailable: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface UpdateColumns {
  company_id: string;
  kind: string | null;
  title: string | null;
  audience: string | null;
  published_at: string | null;
  pinned: Bit | null;
  url: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface Versioned {
  valid_from: string;
  change_seq: number;
}

export interface RoundStatColumns {
  offering_id: string;
  status: string;
  company_id: string | null;
  currency: string | null;
  investments: number;
  committed_cents: number;
  raised_cents: number;
  published_through: string | null;
  asked_at: string;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface CollectionColumns {
  collection: string;
  asked_at: string;
  listed_at: string | null;
  problem: string | null;
  problem_since: string | null;
}

export interface TickColumns {
  tick: Generated<number>;
  trigger: 'start' | 'timer' | 'webhook' | 'manual';
  mode: string;
  started_at: string;
  took_ms: number;
  pages: number;
  added: number;
  changed: number;
  removed: number;
  quarantined: number;
  outcome: string;
  code: string | null;
  message: string | null;
}

export interface QuarantineColumns {
  quarantine_no: Generated<number>;
  id: string | null;
  problem: string;
  body: string | null;
  seen_at: string;
  resolved_at: string | null;
  times: Generated<number>;
}

export interface DriftColumns {
  field: string;
  times: number;
  first_seen: string;
  last_seen: string;
}

export interface NoticeColumns extends MessageColumns {
  seq: number;
}

/** A queued message and its attempts at delivery. */
export interface MessageColumns {
  notice: Generated<number>;
  target: string;
  body: string;
  queued_at: string;
  state: Generated<'pending' | 'delivered' | 'given_up'>;
  attempts: Generated<number>;
  next_at: string;
  delivered_at: string | null;
  last_error: string | null;
}
