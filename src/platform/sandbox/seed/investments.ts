import type { Random } from '../../../runtime/random.js';
import type { InvestmentStatus, Source } from '../../investments/derive.js';
import { updatedSinceMarginMillis } from '../../investments/retention.js';
import { newId } from '../../state/secrets.js';
import { run } from '../../state/statements.js';
import type { Seeding } from './accounts.js';
import type { SeededCompany } from './companies.js';
import { inventPerson } from './people.js';
import { between, chance, pick, weighted } from './picks.js';

/** The investor's part of the input of a record. */
export type Investor = Pick<
  Source,
  'investor_no' | 'investor_id' | 'name' | 'legal_name' | 'email' | 'address' | 'bio' | 'deactivated_at'
>;

/** Returns a new investor most of the time, otherwise one of the last thousand, so memory stays constant. */
export class Crowd {
  readonly #recent: Investor[] = [];
  #count = 0;

  constructor(readonly seeding: Seeding) {}

  next(): Investor {
    const { random } = this.seeding;
    if (this.#recent.length > 0 && chance(random, 0.3)) return pick(random, this.#recent);
    const investor = this.#invent();
    this.#recent[this.#count % 1000] = investor;
    this.#count += 1;
    return investor;
  }

  #invent(): Investor {
    const { state, random, now } = this.seeding;
    const person = inventPerson(random, this.#count + 1);
    const id = newId(random, 'usr_');
    const { no } = run(
      state,
      `INSERT INTO users (id, email, username, name, legal_name, bio, address, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [id, person.email, person.username, person.name, person.legalName, person.bio, person.address, now],
    );
    return {
      investor_no: no,
      investor_id: id,
      name: person.name,
      legal_name: person.legalName,
      email: person.email,
      address: person.address,
      bio: person.bio,
      deactivated_at: null,
    };
  }
}

const dayMillis = 86_400_000;
const statuses = [
  ['active', 55],
  ['executed', 28],
  ['canceled', 9],
  ['needs_whitelisting', 4],
  ['converted', 4],
] as const satisfies readonly (readonly [InvestmentStatus, number])[];
const groups = [
  ['NO PAYMENT YET', 15],
  ['PENDING', 25],
  ['IS READY', 35],
  ['CONFIRMED', 25],
] as const;
/** Group labels of reservations with their weights. Nothing is paid for a reservation. */
const reserved = [
  ['NO PAYMENT YET', 80],
  ['IS READY', 20],
] as const;
const messages = [
  'Glad to back the team.',
  'Viel Erfolg! 🚀',
  'When is "Q4", exactly?\nAsking for a friend, really.',
];
const blockers = JSON.stringify([{ key: 'needs_id', description: 'A government id is missing' }]);
const contracts = JSON.stringify([
  { name: 'Subscription Agreement', override_amount_cents: null, early_bird: true },
]);

/**
 * Returns when the records of a new world were published. That was longer ago than the margin of `updated_since`: a
 * reader's sweep after its first listing would otherwise get every record a second time.
 */
export const publishedAt = (now: number): number => now - 2 * updatedSinceMarginMillis;

/** Invents an investment made at a random time in the past year. */
export function inventInvestment(
  random: Random,
  now: number,
  company: Pick<SeededCompany, 'no' | 'id' | 'offerings'>,
  investor: Investor,
): Omit<Source, 'no'> {
  const offering = pick(random, company.offerings);
  const status = offering.reservations ? 'reserved' : weighted(random, statuses);
  const committed = weighted(random, [
    [between(random, 1, 10) * 10_000, 60],
    [between(random, 10, 100) * 10_000, 30],
    [between(random, 100_001, 9_999_999), 9],
    [between(random, 10_000_000, 250_000_000), 1],
  ]);
  const group =
    status === 'executed' ? 'CONFIRMED' : weighted(random, offering.reservations ? reserved : groups);
  const appliedAt = now - between(random, 60_000, 365 * dayMillis);
  // Fields are written out because object spread is slow at this size and a world can have a million records.
  return {
    id: newId(random, 'inv_'),
    investor_no: investor.investor_no,
    investor_id: investor.investor_id,
    name: investor.name,
    legal_name: investor.legal_name,
    email: investor.email,
    address: investor.address,
    bio: investor.bio,
    deactivated_at: investor.deactivated_at,
    currency: offering.currency,
    investment_type: offering.investment_type,
    offering_type: offering.offering_type,
    share_price_cents: offering.share_price_cents,
    company_no: company.no,
    company_id: company.id,
    offering_no: offering.no,
    offering_id: offering.id,
    status,
    group_label: group,
    entity_name: chance(random, 0.08) ? `${investor.name} Holdings LLC` : null,
    committed_cents: committed,
    in_escrow_cents: status === 'active' && group !== 'NO PAYMENT YET' ? committed : 0,
    applied_at: appliedAt,
    canceled_at: status === 'canceled' ? between(random, appliedAt, now) : null,
    message: chance(random, 0.25) ? pick(random, messages) : null,
    external_username: chance(random, 0.1) ? `sample_${between(random, 1, 99_999)}` : null,
    blockers: chance(random, 0.1) ? blockers : '[]',
    contracts: status === 'executed' || chance(random, 0.3) ? contracts : '[]',
    converted_to: null,
    converted_from: null,
    hidden: 0,
    deleted_at: null,
    overrides: null,
  };
}
