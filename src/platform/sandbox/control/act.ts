import { notFound, Problem } from '../../http/problem.js';
import { revokeInstallation } from '../../installations/revoke.js';
import type { Source } from '../../investments/derive.js';
import { findInvestment, loadInvestment } from '../../investments/model.js';
import { publishSoon } from '../../investments/publisher.js';
import {
  changeInvestment,
  createInvestment,
  deactivateUser,
  withdrawInvestment,
} from '../../investments/write.js';
import type { Services } from '../../services.js';
import { newId } from '../../state/secrets.js';
import { all, one, run } from '../../state/statements.js';
import { inventInvestment } from '../seed/investments.js';
import { inventPerson } from '../seed/people.js';
import { rewriteProfile } from './profile.js';
import { planChange, type RecordPatch } from './record-patch.js';

/** Actions of people on the platform, done by control calls. Each is one transaction with publication and events. */

export interface ActingCompany {
  readonly no: number;
  readonly id: string;
}

export function companyOf(services: Services, id: string): ActingCompany {
  const found = one<ActingCompany>(services.state, 'SELECT no, id FROM companies WHERE id = ?', [id]);
  if (found === undefined)
    throw new Problem(400, 'invalid_params', `company: ${id} is not a company of this sandbox.`);
  return found;
}

export function invest(services: Services, company: ActingCompany, set: RecordPatch, now: number): string {
  const investor =
    set.investor?.id === undefined ? newPerson(services, now) : personOf(services, set.investor.id);
  // A new record would attach personal data to an erased account.
  if (investor.deactivated_at !== null) throw closedAccount('it cannot invest');
  const offerings = offeringsOf(services, company);
  const fresh = freshly(
    inventInvestment(services.random, now, { ...company, offerings: roundsToEnter(offerings) }, investor),
    now,
  );
  const { columns, profile, reason } = planChange(services.state, { ...fresh, no: 0 }, set);
  if (profile !== null) rewriteProfile(services, investor.investor_no, profile, now);
  const offering = offerings.find((one) => one.no === columns.offering_no);
  const source = createInvestment(
    services,
    { ...fresh, ...columns, ...(offering === undefined ? {} : { offering_id: offering.id }) },
    now,
  );
  if (columns.converted_to != null || columns.hidden === 1)
    changeInvestment(services, source, columns, reason, now);
  return source.id;
}

/** Returns the open rounds that take investments or, without any, the best there is. Throws a 409 without a round. */
function roundsToEnter<Round extends { readonly reservations: boolean; readonly ended: number }>(
  rounds: readonly Round[],
): readonly Round[] {
  const choices = [
    rounds.filter(({ reservations, ended }) => !reservations && ended === 0),
    rounds.filter(({ reservations }) => !reservations),
    rounds.filter(({ ended }) => ended === 0),
    rounds,
  ];
  const found = choices.find(({ length }) => length > 0);
  if (found !== undefined) return found;
  throw new Problem(409, 'conflict', 'The company has no round to invest in.', {
    remediation: 'Create one with POST /_sandbox/offerings.',
  });
}

const closedAccount = (so: string): Problem =>
  new Problem(400, 'invalid_params', `investor: this account is closed; ${so}.`);

/** Returns whether the patch sets identity. Nulls only remove data; all other values count, even in unknown fields. */
function saysWho({ message, external_username, investor = {} }: RecordPatch): boolean {
  const { id, via_entity, ...person } = investor;
  return [message, external_username, ...Object.values(person)].some((value) => value != null);
}

/** Resets an invented investment to the state of a new commitment. */
const freshly = (invented: Omit<Source, 'no'>, now: number): Omit<Source, 'no'> => ({
  ...invented,
  status: invented.status === 'reserved' ? 'reserved' : 'active',
  group_label: 'NO PAYMENT YET',
  in_escrow_cents: 0,
  contracts: '[]',
  applied_at: now,
  canceled_at: null,
});

export function amend(services: Services, id: string, patch: RecordPatch, now: number): void {
  const source = standing(services, id);
  if (patch.investor?.id !== undefined) {
    throw new Problem(400, 'invalid_params', 'investor.id: the investor of an investment cannot be changed.');
  }
  if (source.deactivated_at !== null && saysWho(patch)) throw closedAccount('it has no profile to change');
  const { columns, profile, reason } = planChange(services.state, source, patch);
  if (profile !== null) rewriteProfile(services, source.investor_no, profile, now);
  changeInvestment(services, loadInvestment(services.state, source.no), columns, reason, now);
}

export function withdraw(services: Services, id: string, now: number): void {
  withdrawInvestment(services, standing(services, id), now);
}

/** Converts the investment to another round of the company. Returns the id of the successor. */
export function convert(services: Services, source: Source, now: number): string {
  const others = offeringsOf(services, { no: source.company_no, id: source.company_id }).filter(
    (offering) => offering.no !== source.offering_no && offering.ended === 0,
  );
  const target = others[Math.floor(services.random.fraction() * others.length)];
  if (target === undefined) return source.id;
  const successor = createInvestment(
    services,
    {
      ...source,
      id: newId(services.random, 'inv_'),
      status: source.status === 'canceled' ? 'active' : source.status,
      offering_no: target.no,
      offering_id: target.id,
      converted_to: null,
    },
    now,
  );
  changeInvestment(services, source, { status: 'converted', converted_to: successor.id }, 'changed', now);
  return successor.id;
}

/** Republishes the record as recomputed, without a change to the investment. */
export function recompute(services: Services, source: Source, now: number): void {
  publishSoon(services, source.no, 'recomputed', now);
}

export function deactivate(services: Services, id: string, now: number): readonly string[] {
  const user = one<{ no: number }>(services.state, 'SELECT no FROM users WHERE id = ?', [id]);
  if (user === undefined) throw notFound('The user');
  return deactivateUser(services, user.no, now);
}

export function revoke(services: Services, id: string, now: number): void {
  const { state } = services;
  const installation = one<{ no: number }>(state, 'SELECT no FROM installations WHERE id = ?', [id]);
  if (installation === undefined) throw notFound('The installation');
  revokeInstallation(services, installation.no, 'founder', now);
}

function standing(services: Services, id: string): Source {
  const source = findInvestment(services.state, id);
  if (source === undefined || source.deleted_at !== null) throw notFound('The investment');
  return source;
}

const offeringsOf = (services: Services, company: ActingCompany) =>
  all<{
    no: number;
    id: string;
    currency: string;
    investment_type: string;
    offering_type: string;
    share_price_cents: number | null;
    reservations: number;
    ended: number;
  }>(
    services.state,
    `SELECT no, id, currency, investment_type, offering_type, share_price_cents, testing_the_waters AS reservations,
       status IN ('closed', 'canceled') AS ended FROM offerings WHERE company_no = ? ORDER BY no`,
    [company.no],
  ).map((row) => ({ ...row, reservations: row.reservations === 1 }));

const personColumns =
  'no AS investor_no, id AS investor_id, name, legal_name, email, address, bio, deactivated_at';

function personOf(services: Services, id: string) {
  const person = one<ReturnType<typeof newPerson>>(
    services.state,
    `SELECT ${personColumns} FROM users WHERE id = ?`,
    [id],
  );
  if (person === undefined) throw new Problem(400, 'invalid_params', `investor.id: ${id} is not a user.`);
  return person;
}

function newPerson(services: Services, now: number) {
  const { state, random } = services;
  const count = one<{ no: number }>(state, 'SELECT max(no) AS no FROM users')?.no ?? 0;
  const person = inventPerson(random, count + 1);
  const id = newId(random, 'usr_');
  // Row numbers only grow and seeded users have lower ones, so the email is unique.
  const email = `late-${person.email}`;
  const { no } = run(
    state,
    'INSERT INTO users (id, email, username, name, legal_name, bio, address, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    [id, email, `late-${person.username}`, person.name, person.legalName, person.bio, person.address, now],
  );
  return {
    investor_no: no,
    investor_id: id,
    name: person.name,
    legal_name: person.legalName,
    email,
    address: person.address,
    bio: person.bio,
    deactivated_at: null as number | null,
  };
}
