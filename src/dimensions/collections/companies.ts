import { isIdShaped } from '../../domain/ids.js';
import { canonicalJson, type JsonObject } from '../../domain/json.js';
import { storableText } from '../../domain/text.js';
import { broken, fieldsOf, Reader, requireAtMost } from '../fields.js';
import type { Collection, Row } from '../ports.js';

export const companies: Collection = {
  name: 'companies',
  table: 'company_rows',
  key: ['id'],
  columns: [
    ...['id', 'name', 'slug', 'url', 'status', 'currency', 'tagline', 'city', 'state', 'country'],
    ...['current_round_id', 'raised_cents', 'profile_raised_cents', 'reported_elsewhere_cents'],
    ...['reported_rounds', 'unavailable', 'extra'],
  ],
  versions: { about: 'company', history: 'company_history_rows' },
  touchedBy: ['offering.', 'installation.'],
};

/** A round as the record of its company sums it up. */
export interface RoundSummary {
  readonly id: string;
  readonly status: string | null;
  readonly exemption: string | null;
  readonly security: { readonly type: string | null; readonly label: string | null };
  readonly raisedCents: number | null;
  readonly investorCount: number | null;
  readonly openedAt: string | null;
  readonly closedAt: string | null;
}

export interface CompanyRecord {
  readonly row: Row;
  readonly rounds: readonly RoundSummary[];
}

const known: ReadonlySet<string> = new Set([
  ...['name', 'tagline', 'url', 'logo_url', 'card_image_url', 'location', 'raising', 'current_raise'],
  ...['past_rounds', 'service_rounds', 'wefunder_rounds', 'totals'],
]);

/** The rounds of one company: each costs a request for itself and one for its stats. */
const roundsMax = 500;
/** The companies of one person: each costs two requests. */
const companiesMax = 2_000;

const knownOfRound: ReadonlySet<string> = new Set([
  ...['offering_id', 'source', 'current', 'status', 'exemption', 'security', 'amount_raised'],
  ...['amount_raised_cents', 'investor_count', 'opened_at', 'closed_at'],
]);

const totalNames = [
  ...['raised_on_service_all_time', 'raised_on_wefunder_all_time'],
  ...['profile_total_raised', 'profile_reported_off_platform'],
];

const knownInside: Readonly<Record<string, ReadonlySet<string>>> = {
  location: new Set(['city', 'state', 'country']),
  current_raise: new Set([
    ...['offering_id', 'offering_ids', 'testing_the_waters', 'amount_raised', 'amount_raised_cents'],
    ...['funding_target', 'funding_target_cents', 'investor_count', 'oversubscribed', 'closes_at'],
  ]),
  past_rounds: knownOfRound,
  service_rounds: knownOfRound,
  wefunder_rounds: knownOfRound,
  totals: new Set([...totalNames.flatMap((name) => [name, `${name}_cents`]), 'profile_includes_past_rounds']),
};

/** Parses `GET /companies/{id}`. Its currency is known only from its rounds. */
export function parseCompany(body: unknown): CompanyRecord {
  const { id, attributes } = fieldsOf(fieldsOf(body).data);
  if (typeof id !== 'string' || id === '') throw broken('company', 'id');
  const read = new Reader('company', fieldsOf(attributes));
  const url = read.text('url');
  const place = read.inside('location');
  const totals = read.inside('totals');
  const past = read.list('past_rounds');
  const listed = [...read.list('service_rounds'), ...read.list('wefunder_rounds'), ...past];
  const current = read.inside('current_raise').id('offering_id');
  const raising = read.flag('raising');
  const ids = fieldsOf(fieldsOf(attributes).current_raise).offering_ids;
  const legs = Array.isArray(ids) ? ids.filter((leg): leg is string => typeof leg === 'string') : [];
  if (!legs.every(isIdShaped)) throw broken('company', 'offering_ids');
  requireAtMost(roundsMax, listed.length + legs.length, 'company', 'rounds');
  const summaries = listed.flatMap(summaryOf);
  return {
    row: {
      id,
      name: read.required('name'),
      slug: slugOf(url),
      url,
      status: raising === null ? null : raising === 1 ? 'raising' : 'not_raising',
      currency: null,
      tagline: read.text('tagline'),
      city: place.text('city'),
      state: place.text('state'),
      country: place.text('country'),
      current_round_id: current,
      raised_cents: totals.cents('raised_on_service_all_time') ?? totals.cents('raised_on_wefunder_all_time'),
      profile_raised_cents: totals.cents('profile_total_raised'),
      reported_elsewhere_cents: totals.cents('profile_reported_off_platform'),
      reported_rounds: canonicalJson(
        past.filter(({ offering_id }) => offering_id === null).map(reportedRound),
      ),
      unavailable: null,
      extra: read.extra(known, knownInside),
    },
    rounds: firstOfEach([
      ...summaries,
      ...[current, ...legs].flatMap((leg) => (leg === null ? [] : [bare(leg)])),
    ]),
  };
}

/** Parses `GET /users/me/companies`, which has no pages. Returns the names by id; null for one that cannot be read. */
export function parseMyCompanies(body: unknown): ReadonlyMap<string, string | null> {
  const { data } = fieldsOf(body);
  if (!Array.isArray(data)) throw broken('company', 'data');
  requireAtMost(companiesMax, data.length, 'company', 'companies');
  const names = new Map<string, string | null>();
  for (const item of data) {
    const { id, attributes } = fieldsOf(item);
    if (!isIdShaped(id)) throw broken('company', 'id');
    const { name } = fieldsOf(attributes);
    names.set(id, typeof name === 'string' ? storableText(name) : null);
  }
  return names;
}

/** Returns the rounds that a response names, also one that `parseCompany` cannot read; none of one with too many. */
export function namedRounds(body: unknown): readonly RoundSummary[] {
  const fields = fieldsOf(fieldsOf(fieldsOf(body).data).attributes);
  const { offering_id, offering_ids } = fieldsOf(fields.current_raise);
  const listed = [fields.service_rounds, fields.wefunder_rounds, fields.past_rounds].flatMap((list) =>
    Array.isArray(list) ? list.map((item: unknown) => fieldsOf(item).offering_id) : [],
  );
  const ids = [...listed, offering_id, ...(Array.isArray(offering_ids) ? offering_ids : [])];
  if (ids.length > roundsMax) return [];
  return [...new Set(ids)].flatMap((id) => (isIdShaped(id) ? [bare(id)] : []));
}

/** The row of a company that the platform does not serve. `name` may be known from one of its rounds. */
export function hiddenCompany(id: string, reason: string, name: string | null): Row {
  const nothing = Object.fromEntries(companies.columns.map((column) => [column, null]));
  return { ...nothing, id, name, reported_rounds: '[]', unavailable: reason };
}

function summaryOf(fields: ReturnType<typeof fieldsOf>): readonly RoundSummary[] {
  const read = new Reader('company', fields);
  const id = read.id('offering_id');
  if (id === null) return [];
  const security = read.inside('security');
  return [
    {
      id,
      status: read.text('status'),
      exemption: read.inside('exemption').text('label'),
      security: { type: security.text('type'), label: security.text('label') },
      raisedCents: read.cents('amount_raised'),
      investorCount: read.count('investor_count'),
      openedAt: read.time('opened_at'),
      closedAt: read.time('closed_at'),
    },
  ];
}

function bare(id: string): RoundSummary {
  const nothing = { status: null, exemption: null, raisedCents: null, investorCount: null };
  return { id, ...nothing, security: { type: null, label: null }, openedAt: null, closedAt: null };
}

function reportedRound(fields: ReturnType<typeof fieldsOf>): JsonObject {
  const read = new Reader('company', fields);
  return {
    exemption: read.inside('exemption').text('label'),
    raised_cents: read.cents('amount_raised'),
    investor_count: read.count('investor_count'),
    opened_at: read.time('opened_at'),
    closed_at: read.time('closed_at'),
  };
}

function firstOfEach(summaries: readonly RoundSummary[]): readonly RoundSummary[] {
  const found = new Map<string, RoundSummary>();
  for (const summary of summaries) if (!found.has(summary.id)) found.set(summary.id, summary);
  return [...found.values()];
}

/** Returns the last part of the path of the company's page, or the text itself when it is not an address. */
function slugOf(url: string | null): string | null {
  if (url === null) return null;
  const path = URL.parse(url)?.pathname ?? url;
  return path.split('/').findLast((part) => part !== '') ?? null;
}
