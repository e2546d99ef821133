import { z } from 'zod';
import { defined } from '../../../domain/defined.js';
import type { JsonObject } from '../../../domain/json.js';
import { investmentStatusNames } from '../../contract/investments.js';
import { Problem } from '../../http/problem.js';
import type { Source } from '../../investments/derive.js';
import { isObject, mergeDeeply } from '../../investments/merge.js';
import { type PublicationReason, publicationReasons } from '../../investments/publisher.js';
import type { InvestmentColumns, Profile } from '../../investments/write.js';
import type { State } from '../../state/database.js';
import { one } from '../../state/statements.js';

const text = z.string().max(10_000);
const cents = z.int();
const decimal = z.string().regex(/^\d+(\.\d+)?$/, 'must be a decimal string');

/** The shape of the record, all parts optional. Unknown fields are stored and returned, to simulate schema drift. */
export const recordPatch = z.looseObject({
  id: z.never().optional(),
  company: z.never().optional(),
  converted_from: z.never().optional(),
  observed_at: z.never().optional(),
  cursor: z.never().optional(),
  status: z.enum(investmentStatusNames).optional(),
  visible: z.boolean().optional(),
  converted_to: z.string().nullable().optional(),
  offering: z.string().optional(),
  investment_type: text.optional(),
  offering_type: text.optional(),
  group: text.nullable().optional(),
  applied_at: z.iso.datetime({ offset: true }).optional(),
  amounts: z
    .looseObject({
      currency: z
        .string()
        .regex(/^[a-z]{3}$/, 'must be a lower-case currency code')
        .optional(),
      committed_cents: cents.min(0).optional(),
      investment_size_cents: cents.optional(),
      in_escrow_cents: cents.nullable().optional(),
      raised_cents: cents.optional(),
    })
    .optional(),
  shares: decimal.nullable().optional(),
  average_share_price: decimal.nullable().optional(),
  needs_whitelisting: z.boolean().optional(),
  external_username: text.nullable().optional(),
  message: text.nullable().optional(),
  company_email_hidden: z.boolean().optional(),
  investor: z
    .looseObject({
      id: z.string().optional(),
      deactivated: z.never().optional(),
      via_entity: z.boolean().optional(),
      name: text.optional(),
      legal_name: text.optional(),
      email: text.nullable().optional(),
      address: z.record(z.string(), text.nullable()).nullable().optional(),
      bio: text.nullable().optional(),
    })
    .optional(),
  blockers: z.array(z.looseObject({ key: z.string(), description: z.string().nullable() })).optional(),
  contracts: z.array(z.looseObject({ override_amount_cents: cents.nullable() })).optional(),
  reason: z.enum(publicationReasons).optional(),
});
export type RecordPatch = z.output<typeof recordPatch>;

export interface PlannedChange {
  readonly columns: Partial<InvestmentColumns>;
  readonly profile: Profile | null;
  readonly reason: PublicationReason;
}

/** Derived fields. A value set by a patch overrides the derived one. */
const overriding = [
  'investment_type',
  'offering_type',
  'shares',
  'average_share_price',
  'company_email_hidden',
];
const planned = new Set([
  ...[
    'status',
    'visible',
    'converted_to',
    'offering',
    'group',
    'applied_at',
    'amounts',
    'needs_whitelisting',
  ],
  ...['external_username', 'message', 'investor', 'blockers', 'contracts', 'reason'],
]);

/** Translates a patch of the record into changes of the rows it is derived from. */
export function planChange(state: State, source: Source, patch: RecordPatch): PlannedChange {
  const { amounts = {}, investor = {} } = patch;
  const { committed_cents, in_escrow_cents, ...otherAmounts } = amounts;
  const status = statusAfter(source, patch);
  const executes = status === 'executed' && source.status !== 'executed';
  const extra = Object.fromEntries(
    Object.entries(patch).filter(([key]) => overriding.includes(key) || !planned.has(key)),
  ) as JsonObject;
  const overrides = mergeDeeply(storedOverrides(source, investor), {
    ...extra,
    ...(Object.keys(otherAmounts).length === 0 ? {} : { amounts: otherAmounts as JsonObject }),
    ...investorOverrides(investor as JsonObject),
  });
  return {
    columns: {
      status,
      ...(patch.offering === undefined ? {} : { offering_no: offeringOf(state, source, patch.offering) }),
      ...(patch.group === undefined
        ? executes
          ? { group_label: 'CONFIRMED' }
          : {}
        : { group_label: patch.group }),
      ...defined({ committed_cents }),
      ...(in_escrow_cents === undefined ? (executes ? { in_escrow_cents: 0 } : {}) : { in_escrow_cents }),
      ...(patch.applied_at === undefined ? {} : { applied_at: Date.parse(patch.applied_at) }),
      ...defined({ message: patch.message, external_username: patch.external_username }),
      ...(patch.blockers === undefined ? {} : { blockers: JSON.stringify(patch.blockers) }),
      ...(patch.contracts === undefined ? {} : { contracts: JSON.stringify(patch.contracts) }),
      ...(patch.converted_to === undefined
        ? {}
        : { converted_to: successorOf(state, source, patch.converted_to) }),
      ...(patch.visible === undefined ? {} : { hidden: patch.visible ? 0 : 1 }),
      ...entityAfter(source, investor),
      overrides: Object.keys(overrides).length === 0 ? null : JSON.stringify(overrides),
    },
    profile: profileAfter(source, investor),
    reason: patch.reason ?? 'changed',
  };
}

/** Returns the stored overrides. A patch with an email removes the override that hid the previous one. */
function storedOverrides(source: Source, investor: NonNullable<RecordPatch['investor']>): JsonObject {
  if (source.overrides === null) return {};
  const stored = JSON.parse(source.overrides) as JsonObject;
  if (typeof investor.email !== 'string' || !isObject(stored.investor)) return stored;
  const { email, ...rest } = stored.investor;
  return { ...stored, investor: rest };
}

function statusAfter(source: Source, patch: RecordPatch): Source['status'] {
  if (patch.status !== undefined) return patch.status;
  if (patch.needs_whitelisting === true) return 'needs_whitelisting';
  return patch.needs_whitelisting === false && source.status === 'needs_whitelisting'
    ? 'active'
    : source.status;
}

function entityAfter(source: Source, investor: NonNullable<RecordPatch['investor']>) {
  const via = investor.via_entity ?? source.entity_name !== null;
  if (!via) return { entity_name: null };
  return { entity_name: investor.legal_name ?? source.entity_name ?? `${source.name} Holdings LLC` };
}

/** Returns the investor fields without a column, and an email hidden for this record only. */
function investorOverrides(investor: JsonObject): JsonObject {
  const columns = new Set(['id', 'via_entity', 'name', 'legal_name', 'address', 'bio']);
  const rest = Object.entries(investor).filter(
    ([key, value]) => !columns.has(key) && (key !== 'email' || value === null),
  );
  return rest.length === 0 ? {} : { investor: Object.fromEntries(rest) };
}

function profileAfter(source: Source, investor: NonNullable<RecordPatch['investor']>): Profile | null {
  const { name, legal_name, email, address, bio } = investor;
  if ([name, legal_name, address, bio].every((value) => value === undefined) && typeof email !== 'string')
    return null;
  const viaEntity = investor.via_entity ?? source.entity_name !== null;
  const stored = source.address === null ? {} : (JSON.parse(source.address) as JsonObject);
  return {
    name: name ?? source.name,
    legal_name: viaEntity ? source.legal_name : (legal_name ?? source.legal_name),
    email: email ?? source.email,
    address:
      address === undefined
        ? source.address
        : isObject(address)
          ? JSON.stringify(mergeDeeply(stored, address))
          : null,
    bio: bio === undefined ? source.bio : bio,
  };
}

const wrong = (message: string): Problem => new Problem(400, 'invalid_params', message);

function offeringOf(state: State, source: Source, id: string): number {
  const found = one<{ no: number }>(state, 'SELECT no FROM offerings WHERE id = ? AND company_no = ?', [
    id,
    source.company_no,
  ]);
  if (found === undefined) throw wrong(`offering: ${id} is not an offering of ${source.company_id}.`);
  return found.no;
}

function successorOf(state: State, source: Source, id: string | null): string | null {
  if (id === null) return null;
  const found = one(state, 'SELECT 1 FROM investments WHERE id = ? AND id <> ? AND company_no = ?', [
    id,
    source.id,
    source.company_no,
  ]);
  if (found === undefined)
    throw wrong(`converted_to: ${id} is not another investment of ${source.company_id}.`);
  return id;
}
