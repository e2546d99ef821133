import { parseId } from '../domain/ids.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import { documentedKeys, type FeedItem, type Identity } from '../domain/investment.js';
import { canonicalJson, type Json, readableLevelsMax } from '../domain/json.js';
import { type Cents, parseCents } from '../domain/money.js';
import { storableText } from '../domain/text.js';

/*
 * Parses one record of the feed by hand. This runs for every record of every page, and a validator that builds a
 * result tree would cost more than everything else done to a record in memory.
 *
 * Required are the fields without which a row would be wrong: which record (`id`), whether it exists (`visible`,
 * `status`), when it was published (`observed_at`) and the amount (`amounts.currency`, `amounts.committed_cents`).
 * Every other field may be absent, but none may have the wrong type. Unknown enum values are stored as sent.
 *
 * A problem names the field and never its value: a value in the wrong field may be a person's name.
 */

type Wire = Readonly<Record<string, unknown>>;

/** Thrown and caught in this file only, so the normal path needs no checks between fields. */
class Rejection extends Error {
  constructor(problem: string) {
    super(problem);
    // A rejection is an expected result; capturing a stack trace would cost more than the parse.
    this.stack = '';
  }
}

/**
 * Returns the parsed record, or a rejected item. `body` returns the record as sent and is called only for a rejected
 * one.
 */
export function parseInvestment(value: unknown, body: () => string): FeedItem {
  try {
    if (!isWire(value)) throw new Rejection('the record is not an object');
    return isTombstone(value) ? tombstone(value) : fullRecord(value, { fields: 0, values: 0 });
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const id = isWire(value) ? (parseId('investment', value.id) ?? null) : null;
    const erases = isWire(value) ? erasureIn(value) : null;
    const item = { kind: 'rejected', id, problem: error.message, body: body() } as const;
    return erases === null ? item : { ...item, erases };
  }
}

/**
 * Returns the erasure in a record that cannot be parsed. A deactivation of the wrong type counts: a name erased too
 * early comes back with the next version, a name kept too long cannot be taken back.
 */
function erasureIn(wire: Wire): 'tombstone' | 'deactivated' | null {
  if (isTombstone(wire)) return 'tombstone';
  const deactivated = isWire(wire.investor) ? wire.investor.deactivated : null;
  return deactivated === undefined || deactivated === null || deactivated === false ? null : 'deactivated';
}

/**
 * A tombstone is not visible and has no status. A user's own canceled investment is not visible either, but has one.
 */
function isTombstone(wire: Wire): boolean {
  if (wire.visible !== false || (wire.status !== undefined && wire.status !== null)) return false;
  // A null status beside content is neither a record nor a tombstone, and a deletion by guess cannot be undone.
  return wire.status === undefined || (wire.amounts == null && wire.investor == null);
}

function tombstone(wire: Wire): FeedItem {
  return {
    kind: 'tombstone',
    id: id('investment', wire.id, 'id') ?? missing('id'),
    observed_at: instant(wire.observed_at, 'observed_at') ?? missing('observed_at'),
    reason: text(wire.reason, 'reason'),
  };
}

/**
 * Counts the unknown fields and the values in lists and unknown fields of one record. They are sorted, stored and
 * compared with every later version, so their number is limited, far above what the platform sends.
 */
interface Unmapped {
  fields: number;
  values: number;
}

const unknownFieldsMax = 200;
const valuesMax = 2_000;

const none: Wire = Object.freeze(Object.create(null));

function fullRecord(wire: Wire, unmapped: Unmapped): FeedItem {
  const amounts = object(wire.amounts, 'amounts') ?? missing('amounts');
  const investor = object(wire.investor, 'investor') ?? none;
  const status = word(wire.status, 'status') ?? missing('status');
  const blockers = list(wire.blockers, 'blockers', unmapped);
  const contracts = list(wire.contracts, 'contracts', unmapped);
  for (const contract of contracts.entries)
    cents(contract.override_amount_cents, 'contracts.override_amount_cents');
  return {
    kind: 'record',
    investment: {
      id: id('investment', wire.id, 'id') ?? missing('id'),
      company_id: id('company', wire.company, 'company'),
      offering_id: id('offering', wire.offering, 'offering'),
      investor_id: id('user', investor.id, 'investor.id'),
      status,
      group_label: text(wire.group, 'group'),
      investment_type: text(wire.investment_type, 'investment_type'),
      offering_type: text(wire.offering_type, 'offering_type'),
      applied_at: instant(wire.applied_at, 'applied_at'),
      currency: word(amounts.currency, 'amounts.currency') ?? missing('amounts.currency'),
      committed_cents:
        cents(amounts.committed_cents, 'amounts.committed_cents') ?? missing('amounts.committed_cents'),
      investment_size_cents: cents(amounts.investment_size_cents, 'amounts.investment_size_cents'),
      in_escrow_cents: cents(amounts.in_escrow_cents, 'amounts.in_escrow_cents'),
      raised_cents: cents(amounts.raised_cents, 'amounts.raised_cents'),
      shares: decimal(wire.shares, 'shares'),
      average_share_price: decimal(wire.average_share_price, 'average_share_price'),
      // The platform sends this both as a status and as a flag; either one counts.
      needs_whitelisting:
        flag(wire.needs_whitelisting, 'needs_whitelisting') === true || status === 'needs_whitelisting',
      visible: flag(wire.visible, 'visible') ?? missing('visible'),
      converted_to: id('investment', wire.converted_to, 'converted_to'),
      converted_from: id('investment', wire.converted_from, 'converted_from'),
      investor_deactivated: flag(investor.deactivated, 'investor.deactivated') ?? false,
      via_entity: flag(investor.via_entity, 'investor.via_entity') ?? false,
      blockers: blockers.json,
      contracts: contracts.json,
      observed_at: instant(wire.observed_at, 'observed_at') ?? missing('observed_at'),
      reason: text(wire.reason, 'reason'),
      extra: extra(wire, amounts, { ...blockers.unknown, ...contracts.unknown }, unmapped),
    },
    identity: identity(wire, investor, unmapped),
  };
}

/**
 * Returns null when the token has no identity grant: the keys are then absent, not null. Unknown fields of `investor`
 * describe a person too, so they are stored with the identity and nowhere else.
 */
function identity(wire: Wire, investor: Wire, unmapped: Unmapped): Identity | null {
  const unknown = unknownOf(investor, investorFields, 'investor', unmapped);
  const address = object(investor.address, 'investor.address') ?? none;
  const unknownOfAddress = unknownOf(address, addressFields, 'investor.address', unmapped);
  if (
    unknown === null &&
    investor.name === undefined &&
    investor.legal_name === undefined &&
    investor.email === undefined &&
    investor.address === undefined &&
    investor.bio === undefined &&
    wire.message === undefined &&
    wire.external_username === undefined
  ) {
    return null;
  }
  return {
    name: text(investor.name, 'investor.name'),
    legal_name: text(investor.legal_name, 'investor.legal_name'),
    email: text(investor.email, 'investor.email'),
    address_line: text(address.line, 'investor.address.line'),
    city: text(address.city, 'investor.address.city'),
    state: text(address.state, 'investor.address.state'),
    postal_code: text(address.postal_code, 'investor.address.postal_code'),
    country: text(address.country, 'investor.address.country'),
    bio: text(investor.bio, 'investor.bio'),
    message: text(wire.message, 'message'),
    external_username: text(wire.external_username, 'external_username'),
    email_hidden: flag(wire.company_email_hidden, 'company_email_hidden') ?? false,
    extra: nested(unknown, 'address', unknownOfAddress),
  };
}

function extra(wire: Wire, amounts: Wire, ofLists: Unknown, unmapped: Unmapped): string | null {
  const unknownAmounts = unknownOf(amounts, amountFields, 'amounts', unmapped);
  for (const key in unknownAmounts) {
    if (key.endsWith('_cents')) cents(unknownAmounts[key], 'an unknown field of amounts');
  }
  let unknown = unknownOf(wire, recordFields, 'the record', unmapped);
  for (const path of Object.keys(ofLists)) {
    unknown ??= Object.create(null) as Unknown;
    unknown[path] = ofLists[path] ?? null;
  }
  return nested(unknown, 'amounts', unknownAmounts);
}

const recordFields = new Set(
  'id visible status converted_to converted_from offering company investment_type offering_type group applied_at \
amounts shares average_share_price needs_whitelisting external_username message investor blockers contracts \
company_email_hidden observed_at cursor reason'.split(' '),
);
const amountFields = new Set(
  'currency committed_cents investment_size_cents in_escrow_cents raised_cents'.split(' '),
);
const investorFields = new Set('id deactivated via_entity name legal_name email address bio'.split(' '));
const addressFields = new Set('line city state postal_code country'.split(' '));

type Unknown = { [key: string]: Json };

/** Returns null in the usual case, after one look at each key. With a null prototype `__proto__` is an ordinary key. */
function unknownOf(
  wire: Wire,
  known: ReadonlySet<string>,
  where: string,
  unmapped: Unmapped,
): Unknown | null {
  let unknown: Unknown | null = null;
  for (const key of Object.keys(wire)) {
    if (known.has(key)) continue;
    countField(unmapped);
    unknown ??= Object.create(null) as Unknown;
    unknown[key] = bounded(wire[key], `an unknown field of ${where}`, unmapped);
  }
  return unknown;
}

function countField(unmapped: Unmapped): void {
  unmapped.fields += 1;
  if (unmapped.fields > unknownFieldsMax)
    throw new Rejection(`the record has more than ${unknownFieldsMax} unknown fields`);
}

function nested(outer: Unknown | null, name: string, inner: Unknown | null): string | null {
  if (inner === null) return outer === null ? null : canonicalJson(outer);
  const whole = outer ?? (Object.create(null) as Unknown);
  whole[name] = inner;
  return canonicalJson(whole);
}

function bounded(value: unknown, field: string, unmapped: Unmapped): Json {
  countValues(value, readableLevelsMax, field, unmapped);
  return value as Json;
}

function countValues(value: unknown, levels: number, field: string, unmapped: Unmapped): void {
  const inner = typeof value !== 'object' || value === null ? [] : Object.values(value);
  unmapped.values += 1;
  if (unmapped.values + inner.length > valuesMax)
    throw new Rejection(`lists and unknown fields hold more than ${valuesMax} values, up to ${field}`);
  if (typeof value === 'object' && value !== null && levels === 0)
    throw new Rejection(`${field} is nested deeper than ${readableLevelsMax} levels`);
  for (const one of inner) countValues(one, levels - 1, field, unmapped);
}

interface List {
  /** Canonical JSON of the entries, with their documented keys only. */
  readonly json: string;
  readonly entries: readonly Wire[];
  readonly unknown: Unknown | null;
}

const emptyList: List = { json: '[]', entries: [], unknown: null };

/**
 * Parses a list of objects. What is not documented may contain personal data, so it goes to `extra`, which an erasure
 * clears. It is named by its path, such as `contracts.signer`, with one value for each entry of the list.
 */
function list(value: unknown, field: keyof typeof documentedKeys, unmapped: Unmapped): List {
  if (value === undefined || value === null) return emptyList;
  if (!Array.isArray(value)) throw new Rejection(`${field} is not an array`);
  if (value.length === 0) return emptyList;
  const sent = bounded(value, field, unmapped) as readonly Json[];
  const known: readonly string[] = documentedKeys[field];
  const entries: { [key: string]: Json }[] = [];
  let unknown: Unknown | null = null;
  const rejected = (path: string, position: number, content: Json) => {
    unknown ??= Object.create(null) as Unknown;
    let values = unknown[path] as Json[] | undefined;
    if (values === undefined) {
      countField(unmapped);
      values = unknown[path] = sent.map(() => null);
    }
    values[position] = content;
  };
  for (const [position, entry] of sent.entries()) {
    if (!isWire(entry)) {
      rejected(field, position, entry);
      continue;
    }
    const kept: { [key: string]: Json } = {};
    for (const [key, content] of Object.entries(entry as { [key: string]: Json })) {
      if (known.includes(key) && (typeof content !== 'object' || content === null)) kept[key] = content;
      else rejected(`${field}.${key}`, position, content);
    }
    entries.push(kept);
  }
  return { json: canonicalJson(entries), entries, unknown };
}

function text(value: unknown, field: string): string | null {
  if (typeof value !== 'string') return absent(value, field, 'text');
  if (value.length > textLengthMax)
    throw new Rejection(`${field} is longer than ${textLengthMax} characters`);
  return storableText(value);
}

/** About fifty pages of text. Longer text would be repeated by every page of the roster and every export. */
const textLengthMax = 100_000;

/** Far above any enum value, and below the limit of a PostgreSQL index entry. */
const wordLengthMax = 200;

/** Parses a value that rows are grouped by. A page must not fail because an index cannot store one record's value. */
function word(value: unknown, field: string): string | null {
  const found = text(value, field);
  if (found !== null && found.length > wordLengthMax)
    throw new Rejection(`${field} is longer than ${wordLengthMax} characters`);
  return found;
}

function flag(value: unknown, field: string): boolean | null {
  return typeof value === 'boolean' ? value : absent(value, field, 'true or false');
}

function cents(value: unknown, field: string): Cents | null {
  return parseCents(value) ?? absent(value, field, 'a whole number within 2^53');
}

function instant(value: unknown, field: string): Instant | null {
  return parseInstant(value) ?? absent(value, field, 'a timestamp');
}

const decimalShape = /^-?\d{1,40}(\.\d{1,40})?$/;

function decimal(value: unknown, field: string): string | null {
  if (typeof value === 'string' && decimalShape.test(value)) return value;
  return absent(value, field, 'a decimal number as text');
}

function id<Kind extends 'investment' | 'company' | 'offering' | 'user'>(
  kind: Kind,
  value: unknown,
  field: string,
) {
  return parseId(kind, value) ?? absent(value, field, `an id of the kind "${kind}"`);
}

function object(value: unknown, field: string): Wire | null {
  return isWire(value) ? value : absent(value, field, 'an object');
}

function absent(value: unknown, field: string, expected: string): null {
  if (value === undefined || value === null) return null;
  throw new Rejection(`${field} is not ${expected}`);
}

function missing(field: string): never {
  throw new Rejection(`${field} is missing`);
}

function isWire(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
