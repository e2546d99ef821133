import type { InvestmentId } from './ids.js';
import type { Instant } from './instant.js';
import type { Cents } from './money.js';

/**
 * One published investment without the person's identity. Fields have the names of the columns, from the parser to
 * the user's SQL. `blockers`, `contracts` and `extra` are canonical JSON text; `extra` stores fields that rosterd
 * does not know yet.
 */
export interface Investment {
  readonly id: InvestmentId;
  readonly company_id: string | null;
  readonly offering_id: string | null;
  readonly investor_id: string | null;
  readonly status: string;
  readonly group_label: string | null;
  readonly investment_type: string | null;
  readonly offering_type: string | null;
  readonly applied_at: Instant | null;
  readonly currency: string | null;
  readonly committed_cents: Cents | null;
  readonly investment_size_cents: Cents | null;
  readonly in_escrow_cents: Cents | null;
  readonly raised_cents: Cents | null;
  readonly shares: string | null;
  readonly average_share_price: string | null;
  readonly needs_whitelisting: boolean;
  readonly visible: boolean;
  readonly converted_to: string | null;
  readonly converted_from: string | null;
  readonly investor_deactivated: boolean;
  readonly via_entity: boolean;
  readonly blockers: string;
  readonly contracts: string;
  readonly observed_at: Instant;
  readonly reason: string | null;
  readonly extra: string | null;
}

/** The person's identity. Stored in one table only, so that one statement erases it. */
export interface Identity {
  readonly name: string | null;
  readonly legal_name: string | null;
  readonly email: string | null;
  readonly address_line: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postal_code: string | null;
  readonly country: string | null;
  readonly bio: string | null;
  readonly message: string | null;
  readonly external_username: string | null;
  readonly email_hidden: boolean;
  /** Unknown fields inside `investor`. They describe a person, whatever they are. Canonical JSON. */
  readonly extra: string | null;
}

/** One parsed entry of a feed page. */
export type FeedItem =
  | {
      readonly kind: 'record';
      readonly investment: Investment;
      readonly identity: Identity | null;
      /** Names of unknown fields whose values are not stored; they are still counted. */
      readonly unkept?: readonly string[];
    }
  | {
      readonly kind: 'tombstone';
      readonly id: InvestmentId;
      readonly observed_at: Instant;
      readonly reason: string | null;
    }
  | {
      readonly kind: 'rejected';
      readonly id: InvestmentId | null;
      readonly problem: string;
      readonly body: string;
      /** The readable part says that the person is gone. Their data is erased even though the rest is unreadable. */
      readonly erases?: 'tombstone' | 'deactivated';
    };

export const identityFields = [
  'name',
  'legal_name',
  'email',
  'address_line',
  'city',
  'state',
  'postal_code',
  'country',
  'bio',
  'message',
  'external_username',
  'email_hidden',
  'extra',
] as const satisfies readonly (keyof Identity)[];

/** Every column of the record except its key, `observed_at` and `reason`, which describe how it was published. */
export const contentFields = [
  'company_id',
  'offering_id',
  'investor_id',
  'status',
  'group_label',
  'investment_type',
  'offering_type',
  'applied_at',
  'currency',
  'committed_cents',
  'investment_size_cents',
  'in_escrow_cents',
  'raised_cents',
  'shares',
  'average_share_price',
  'needs_whitelisting',
  'visible',
  'converted_to',
  'converted_from',
  'investor_deactivated',
  'via_entity',
  'blockers',
  'contracts',
  'extra',
] as const satisfies readonly (keyof Investment)[];

/**
 * The keys that `blockers` and `contracts` store of each entry, with plain values. Every other key is stored in `extra`,
 * because it may contain personal data.
 */
export const documentedKeys = {
  blockers: ['key', 'description'],
  contracts: ['name', 'override_amount_cents', 'early_bird'],
} as const;
