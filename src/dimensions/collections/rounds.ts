import { broken, fieldsOf, Reader } from '../fields.js';
import type { Collection, RoundLabels, Row } from '../ports.js';
import type { RoundSummary } from './companies.js';

export const rounds: Collection = {
  name: 'rounds',
  table: 'offering_rows',
  key: ['id'],
  columns: [
    ...['id', 'company_id', 'name', 'kind', 'exemption', 'status', 'testing_the_waters', 'currency'],
    ...['target_cents', 'max_target_cents', 'min_investment_cents', 'raised_cents_reported'],
    ...['investor_count_reported', 'opened_at', 'closes_at', 'closed_at', 'terms', 'unavailable', 'extra'],
  ],
  versions: { about: 'round', history: 'offering_history_rows' },
  touchedBy: ['offering.', 'installation.'],
};

/** A round before it has its name and currency, with what its name is made from. */
export interface RoundRecord {
  readonly row: Row;
  /** The platform's own name, if it gives one. */
  readonly given: string | null;
  readonly security: string | null;
  /** The year is taken from it. */
  readonly dated: string | null;
  readonly companyName: string | null;
  readonly etag: string | null;
}

const known: ReadonlySet<string> = new Set([
  ...['name', 'company_name', 'tagline', 'url', 'card_image_url', 'logo_url', 'exemption', 'security'],
  ...['intended_security', 'industries', 'business_models', 'status', 'testing_the_waters'],
  ...['funding_target', 'funding_target_cents', 'max_funding_target', 'max_funding_target_cents'],
  ...['min_investment', 'min_investment_cents', 'amount_raised', 'amount_raised_cents', 'investor_count'],
  ...['started_at', 'closes_at', 'closed_at', 'form_c_url', 'spv_legal_name'],
  ...['publicly_visible', 'invested', 'followed'],
]);

const knownInside: Readonly<Record<string, ReadonlySet<string>>> = {
  exemption: new Set(['family', 'subtype', 'label']),
  // The terms are stored as sent.
  security: new Set(['type', 'label', 'terms']),
  intended_security: new Set(['type', 'label', 'terms']),
};

/** What may stand between the quotes of `If-None-Match`. */
const headerTag = /^[!#-~]+$/;

/** Parses `GET /offerings/{id}`. */
export function parseRound(body: unknown): RoundRecord {
  const data = fieldsOf(fieldsOf(body).data);
  const { id, attributes, etag } = data;
  if (typeof id !== 'string' || id === '') throw broken('offering', 'id');
  const fields = fieldsOf(attributes);
  const read = new Reader('offering', fields);
  const reserving = read.flag('testing_the_waters');
  const security = read.inside(
    fieldsOf(fields.security).type === undefined ? 'intended_security' : 'security',
  );
  const openedAt = read.time('started_at');
  const closedAt = read.time('closed_at');
  return {
    row: {
      id,
      company_id: new Reader('offering', data).id('company'),
      name: null,
      kind: security.text('type'),
      exemption: read.inside('exemption').text('label'),
      status: read.required('status'),
      testing_the_waters: reserving,
      currency: null,
      target_cents: read.cents('funding_target'),
      max_target_cents: read.cents('max_funding_target'),
      min_investment_cents: read.cents('min_investment'),
      raised_cents_reported: read.cents('amount_raised'),
      investor_count_reported: read.count('investor_count'),
      opened_at: openedAt,
      closes_at: read.time('closes_at'),
      closed_at: closedAt,
      terms: security.json('terms'),
      unavailable: null,
      extra: read.extra(known, knownInside),
    },
    given: read.text('name'),
    security: security.text('label'),
    dated: openedAt ?? closedAt,
    companyName: read.text('company_name'),
    etag: typeof etag === 'string' && headerTag.test(etag) ? etag : null,
  };
}

/**
 * A round that the platform does not serve: what the record of its company says of it, and beyond that what its
 * investments say.
 */
export function hiddenRound(
  {
    id,
    companyId,
    reason,
  }: { readonly id: string; readonly companyId: string | null; readonly reason: string },
  summary: RoundSummary | undefined,
  labels: RoundLabels | null,
): RoundRecord {
  const nothing = Object.fromEntries(rounds.columns.map((column) => [column, null]));
  return {
    row: {
      ...nothing,
      id,
      company_id: companyId,
      kind: summary?.security.type ?? null,
      exemption: summary?.exemption ?? labels?.offeringType ?? null,
      status: summary?.status ?? null,
      raised_cents_reported: summary?.raisedCents ?? null,
      investor_count_reported: summary?.investorCount ?? null,
      opened_at: summary?.openedAt ?? null,
      closed_at: summary?.closedAt ?? null,
      unavailable: reason,
    },
    given: null,
    security: summary?.security.label ?? labels?.investmentType ?? null,
    dated: summary?.openedAt ?? summary?.closedAt ?? labels?.firstAppliedAt ?? null,
    companyName: null,
    etag: null,
  };
}
