import { z } from 'zod';
import { moveRound, roundSteps } from '../../catalog/round-lifecycle.js';
import {
  exemptionFamilies,
  exemptionLabels,
  securityLabels,
  securityTypes,
  updateKinds,
  updateVisibilities,
} from '../../contract/vocabulary.js';
import { notFound } from '../../http/problem.js';
import type { Services } from '../../services.js';
import { newId } from '../../state/secrets.js';
import { one, run } from '../../state/statements.js';
import type { ActingCompany } from './act.js';

/** Companies, rounds and posts as their company would change them. */

const cents = z.int().min(0).nullable();
const terms = {
  targetCents: cents.optional(),
  maxTargetCents: cents.optional(),
  minInvestmentCents: cents.optional(),
  closesAt: z.iso.datetime({ offset: true }).nullable().optional(),
  /** A private round (Reg D 506(b)) is hidden from the public catalog. */
  private: z.boolean().optional(),
};

export const newRoundBody = z.strictObject({
  company: z.string(),
  exemption: z.enum(exemptionFamilies).exclude(['other']).default('reg_cf'),
  security: z.enum(securityTypes).default('safe'),
  reservations: z.boolean().default(false),
  status: z.enum(['upcoming', 'open']).default('open'),
  currency: z
    .string()
    .regex(/^[a-z]{3}$/)
    .default('usd'),
  ...terms,
});
export const roundBody = z.strictObject({ status: z.enum(roundSteps).optional(), ...terms });
export const companyBody = z.strictObject({
  name: z.string().min(1).max(200).optional(),
  tagline: z.string().max(500).nullable().optional(),
  city: z.string().max(200).nullable().optional(),
  hidden: z.boolean().optional(),
});
export const updateBody = z.strictObject({
  title: z.string().min(1).max(500),
  content: z.string().max(100_000).default('A post.'),
  kind: z.enum(updateKinds).default('update'),
  visibility: z.enum(updateVisibilities).nullable().default('public'),
  pinned: z.boolean().default(false),
});

/** Creates a round. An open one is announced with `offering.opened`. Returns its id. */
export function openRound(
  services: Services,
  company: ActingCompany,
  body: z.output<typeof newRoundBody>,
  now: number,
): string {
  const id = newId(services.random, 'ofr_');
  const { no } = run(
    services.state,
    `INSERT INTO offerings (id, company_no, status, currency, investment_type, offering_type, testing_the_waters, created_at)
     VALUES (?, ?, 'upcoming', ?, ?, ?, ?, ?)`,
    [
      ...[id, company.no, body.currency, securityLabels[body.security], exemptionLabels[body.exemption]],
      ...[body.reservations ? 1 : 0, now],
    ],
  );
  run(
    services.state,
    `INSERT INTO offering_terms (offering_no, exemption, security_type, intended_security_type) VALUES (?, ?, ?, ?)`,
    [...[no, body.exemption], ...(body.reservations ? [null, body.security] : [body.security, null])],
  );
  setTerms(services, no, body);
  if (body.status === 'open') moveRound(services, no, 'open', now);
  return id;
}

/** Changes a round. A new status is announced with its event; other changes have none. */
export function changeRound(
  services: Services,
  id: string,
  body: z.output<typeof roundBody>,
  now: number,
): void {
  const row = one<{ no: number }>(services.state, 'SELECT no FROM offerings WHERE id = ?', [id]);
  if (row === undefined) throw notFound('The offering');
  setTerms(services, row.no, body);
  if (body.status !== undefined) moveRound(services, row.no, body.status, now);
}

const setTarget = 'UPDATE offering_terms SET funding_target_cents = ? WHERE offering_no = ?';
const setMaxTarget = 'UPDATE offering_terms SET max_funding_target_cents = ? WHERE offering_no = ?';
const setMinimum = 'UPDATE offering_terms SET min_investment_cents = ? WHERE offering_no = ?';

function setTerms(
  { state }: Services,
  no: number,
  body: z.output<typeof roundBody> | z.output<typeof newRoundBody>,
): void {
  run(state, `INSERT OR IGNORE INTO offering_terms (offering_no, exemption) VALUES (?, 'reg_cf')`, [no]);
  if (body.targetCents !== undefined) run(state, setTarget, [body.targetCents, no]);
  if (body.maxTargetCents !== undefined) run(state, setMaxTarget, [body.maxTargetCents, no]);
  if (body.minInvestmentCents !== undefined) run(state, setMinimum, [body.minInvestmentCents, no]);
  if (body.closesAt !== undefined)
    run(state, 'UPDATE offerings SET closes_at = ? WHERE no = ?', [
      body.closesAt === null ? null : Date.parse(body.closesAt),
      no,
    ]);
  if (body.private !== undefined)
    run(
      state,
      `UPDATE offering_terms SET exemption = CASE WHEN ? THEN 'reg_d' ELSE exemption END,
         exemption_subtype = CASE WHEN ? THEN '506b' END WHERE offering_no = ?`,
      [body.private ? 1 : 0, body.private ? 1 : 0, no],
    );
}

export function changeCompany(
  { state }: Services,
  company: ActingCompany,
  { name, tagline, city, hidden }: z.output<typeof companyBody>,
): void {
  run(state, 'INSERT OR IGNORE INTO company_profiles (company_no) VALUES (?)', [company.no]);
  if (name !== undefined) run(state, 'UPDATE companies SET name = ? WHERE no = ?', [name, company.no]);
  if (tagline !== undefined)
    run(state, 'UPDATE companies SET tagline = ? WHERE no = ?', [tagline, company.no]);
  if (city !== undefined)
    run(state, 'UPDATE company_profiles SET city = ? WHERE company_no = ?', [city, company.no]);
  if (hidden !== undefined)
    run(state, 'UPDATE company_profiles SET hidden = ? WHERE company_no = ?', [hidden ? 1 : 0, company.no]);
}

/** Publishes a post in the name of a founder. Returns its id. The platform has no event for it. */
export function postUpdate(
  { state, random }: Services,
  company: ActingCompany,
  { title, content, kind, visibility, pinned }: z.output<typeof updateBody>,
  now: number,
): string {
  const id = newId(random, '');
  run(
    state,
    `INSERT INTO company_updates (id, company_no, kind, title, content, published_at, pinned, visibility, author_name)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT u.name FROM company_members m JOIN users u ON u.no = m.user_no
       WHERE m.company_no = ? AND m.tier = 'founder' AND u.deactivated_at IS NULL ORDER BY u.no LIMIT 1))`,
    [id, company.no, kind, title, content, now, pinned ? 1 : 0, visibility, company.no],
  );
  return id;
}

export function withdrawUpdate({ state }: Services, id: string): void {
  const { changes } = run(state, 'DELETE FROM company_updates WHERE id = ?', [id]);
  if (changes === 0) throw notFound('The update');
}
