import { z } from 'zod';
import { investmentStatusNames } from '../../contract/investments.js';
import { exemptionFamilies, securityTypes } from '../../contract/vocabulary.js';

/*
 * The lines of a file for `rosterd sandbox --import`. A round has the fields of `POST /_sandbox/offerings`, an investment
 * those of the record that the API returns. docs/sandbox.md describes them.
 */

const idOf = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}[A-Za-z0-9]{1,40}$`), `must be ${prefix} and up to 40 letters and digits`);
const text = z.string().max(10_000);
const time = z.iso.datetime({ offset: true });
const cents = z.int().min(0);
const currency = z.string().regex(/^[a-z]{3}$/, 'must be a lower-case currency code');

const part = text.nullable().default(null);
const address = z.strictObject({ line: part, city: part, state: part, postal_code: part, country: part });

const companyLine = z.strictObject({
  type: z.literal('company'),
  id: idOf('co_'),
  name: z.string().min(1).max(200),
  slug: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/, 'must be lower-case letters, digits and -')
    .optional(),
  tagline: z.string().max(500).optional(),
});

const offeringLine = z.strictObject({
  type: z.literal('offering'),
  id: idOf('ofr_'),
  company: z.string(),
  exemption: z.enum(exemptionFamilies).exclude(['other']).default('reg_cf'),
  security: z.enum(securityTypes).default('safe'),
  reservations: z.boolean().default(false),
  status: z.enum(['upcoming', 'open', 'closing', 'closed', 'canceled']).default('open'),
  currency: currency.default('usd'),
  sharePriceCents: z.int().min(1).optional(),
  targetCents: cents.optional(),
  maxTargetCents: cents.optional(),
  minInvestmentCents: cents.optional(),
  private: z.boolean().default(false),
  startedAt: time.optional(),
  closesAt: time.optional(),
  closedAt: time.optional(),
});

const investmentLine = z.strictObject({
  type: z.literal('investment'),
  id: idOf('inv_').optional(),
  offering: z.string(),
  status: z.enum(investmentStatusNames).optional(),
  group: text.nullable().optional(),
  applied_at: time.optional(),
  canceled_at: time.optional(),
  amounts: z.strictObject({
    committed_cents: cents,
    in_escrow_cents: cents.nullable().optional(),
  }),
  investor: z.strictObject({
    id: idOf('usr_').optional(),
    // As everywhere on the platform, the case of an email does not count: people are found by this spelling.
    email: z.email().max(320).toLowerCase(),
    name: text.optional(),
    legal_name: text.optional(),
    via_entity: z.boolean().default(false),
    address: address.nullable().optional(),
    bio: text.nullable().optional(),
  }),
  message: text.nullable().optional(),
  external_username: text.nullable().optional(),
  blockers: z.array(z.looseObject({ key: z.string(), description: z.string().nullable() })).default([]),
  contracts: z.array(z.looseObject({ override_amount_cents: z.int().nullable() })).default([]),
});

export const anyLine = z.discriminatedUnion('type', [companyLine, offeringLine, investmentLine], {
  error: 'must be "company", "offering" or "investment"',
});
export type CompanyLine = z.output<typeof companyLine>;
export type OfferingLine = z.output<typeof offeringLine>;
export type InvestmentLine = z.output<typeof investmentLine>;
