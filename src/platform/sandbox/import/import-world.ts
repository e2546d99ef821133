import { Fault } from '../../../domain/fault.js';
import { nestsDeeper } from '../../../domain/json.js';
import { exemptionLabels, securityLabels } from '../../contract/vocabulary.js';
import { levelsMax } from '../../http/json-body.js';
import { wording } from '../../http/wording.js';
import type { Source } from '../../investments/derive.js';
import { insertInvestment } from '../../investments/model.js';
import { appendFirst, publishFirst } from '../../investments/publisher.js';
import { newId } from '../../state/secrets.js';
import { one, run } from '../../state/statements.js';
import type { WorldCompany, WorldUser } from '../document.js';
import { type SeededApplication, type Seeding, seedWorldUser } from '../seed/accounts.js';
import { seedProfile } from '../seed/catalog.js';
import {
  type PeopledCompany,
  type SeededInstall,
  seedInstall,
  seedPeopledCompany,
} from '../seed/companies.js';
import { type Investor, publishedAt } from '../seed/investments.js';
import { anyLine, type CompanyLine, type InvestmentLine, type OfferingLine } from './line-shapes.js';
import { type Line, linesOf } from './lines.js';

export interface Import {
  readonly file: string;
  readonly application: SeededApplication;
  /** Founders of imported companies are numbered after those of seeded ones. */
  readonly companiesBefore: number;
  /** Called now and then with the number of investments so far. */
  readonly progress: (investments: number) => void;
}

export interface Imported {
  readonly companies: readonly WorldCompany[];
  readonly founders: readonly WorldUser[];
}

/** Investments between two reports of progress. */
const progressEvery = 250_000;

/**
 * Adds the companies, rounds and investments of a file of JSON Lines to the sandbox realm. Reads it line by line, so
 * memory does not grow with the number of investments. Throws `usage` with the number of a line that it cannot take.
 */
export function importWorld(seeding: Seeding, wanted: Import): Imported {
  const importer = new Importer(seeding, wanted);
  for (const line of linesOf(wanted.file)) importer.take(line);
  return importer.finish();
}

interface ImportedCompany extends PeopledCompany {
  readonly install: SeededInstall;
  readonly offerings: string[];
  investments: number;
}

type Round = Pick<
  Source,
  'offering_no' | 'offering_id' | 'currency' | 'investment_type' | 'offering_type' | 'share_price_cents'
> & { readonly company: ImportedCompany; readonly reservations: boolean };

class Importer {
  readonly #companies = new Map<string, ImportedCompany>();
  readonly #rounds = new Map<string, Round>();
  readonly #publishedAt: number;
  #first: number | null = null;
  #investments = 0;
  #line = 0;

  constructor(
    readonly seeding: Seeding,
    readonly wanted: Import,
  ) {
    this.#publishedAt = publishedAt(seeding.now);
  }

  take({ number, text }: Line): void {
    this.#line = number;
    const parsed = anyLine.safeParse(this.#json(text), { error: wording });
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw this.#fault(`${issue?.path.join('.') || 'the line'}: ${issue?.message ?? 'is not valid'}`);
    }
    const line = parsed.data;
    try {
      if (line.type === 'company') this.#company(line);
      else if (line.type === 'offering') this.#offering(line);
      else this.#investment(line);
    } catch (error) {
      throw isTaken(error) ? this.#fault(`${columnOf(error)} is used already`) : error;
    }
  }

  finish(): Imported {
    if (this.#first !== null) appendFirst(this.seeding.state, this.#first);
    const companies = [...this.#companies.values()];
    return {
      companies: companies.map((company) => ({
        id: company.id,
        name: company.name,
        offering: company.offerings[0] ?? '',
        offerings: company.offerings,
        founder: company.founder.id,
        ...company.install,
        investments: company.investments,
      })),
      founders: companies.map(({ founder }) => seedWorldUser(this.seeding, this.wanted.application, founder)),
    };
  }

  /** The error of `JSON.parse` quotes the text, which holds names. */
  #json(text: string): unknown {
    if (nestsDeeper(text, levelsMax)) throw this.#fault(`is nested deeper than ${levelsMax} levels`);
    try {
      return JSON.parse(text);
    } catch {
      throw this.#fault('is not JSON');
    }
  }

  #fault(what: string): Fault {
    return new Fault('usage', `--import: ${this.wanted.file} line ${this.#line}: ${what}`, {
      hint: 'docs/sandbox.md describes the file.',
    });
  }

  #company({ id, name, slug, tagline }: CompanyLine): void {
    const number = this.wanted.companiesBefore + this.#companies.size + 1;
    const chosen = slug ?? `imported-company-${number}`;
    const peopled = seedPeopledCompany(this.seeding, {
      id,
      name,
      slug: chosen,
      number,
      tagline: tagline ?? 'An imported company.',
    });
    const install = seedInstall(this.seeding, this.wanted.application.no, peopled);
    seedProfile(this.seeding, peopled.no, chosen, { industries: ['technology'], models: ['b2b'] });
    this.#companies.set(id, { ...peopled, install, offerings: [], investments: 0 });
  }

  #offering(line: OfferingLine): void {
    const { state, now } = this.seeding;
    const company = this.#companies.get(line.company);
    if (company === undefined) throw this.#fault(`company: no earlier line has the company ${line.company}`);
    const exemption = line.private ? 'reg_d' : line.exemption;
    const round = {
      currency: line.currency,
      investment_type: securityLabels[line.security],
      offering_type: exemptionLabels[exemption],
      share_price_cents: line.sharePriceCents ?? null,
    };
    const { no } = run(
      state,
      `INSERT INTO offerings (id, company_no, status, currency, investment_type, offering_type, share_price_cents,
         testing_the_waters, started_at, closes_at, closed_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        line.id,
        company.no,
        line.status,
        round.currency,
        round.investment_type,
        round.offering_type,
        round.share_price_cents,
        line.reservations ? 1 : 0,
        timeOf(line.startedAt) ?? (line.status === 'upcoming' ? null : now),
        timeOf(line.closesAt),
        timeOf(line.closedAt) ?? (line.status === 'closed' ? now : null),
        now,
      ],
    );
    run(
      state,
      `INSERT INTO offering_terms (offering_no, exemption, exemption_subtype, security_type, security_terms,
         intended_security_type, funding_target_cents, max_funding_target_cents, min_investment_cents)
       VALUES (?, ?, ?, ?, '{}', ?, ?, ?, ?)`,
      [
        no,
        exemption,
        line.private ? '506b' : null,
        line.reservations ? null : line.security,
        line.reservations ? line.security : null,
        line.targetCents ?? null,
        line.maxTargetCents ?? null,
        line.minInvestmentCents ?? null,
      ],
    );
    company.offerings.push(line.id);
    const { reservations } = line;
    this.#rounds.set(line.id, { ...round, offering_no: no, offering_id: line.id, company, reservations });
  }

  #investment(line: InvestmentLine): void {
    const { state, random, now } = this.seeding;
    const round = this.#rounds.get(line.offering);
    if (round === undefined) throw this.#fault(`offering: no earlier line has the offering ${line.offering}`);
    const investor = this.#investor(line.investor);
    const status = line.status ?? (round.reservations ? 'reserved' : 'active');
    // Fields are written out because object spread is slow at this size.
    const source: Omit<Source, 'no'> = {
      id: line.id ?? newId(random, 'inv_'),
      company_no: round.company.no,
      company_id: round.company.id,
      offering_no: round.offering_no,
      offering_id: round.offering_id,
      currency: round.currency,
      investment_type: round.investment_type,
      offering_type: round.offering_type,
      share_price_cents: round.share_price_cents,
      investor_no: investor.investor_no,
      investor_id: investor.investor_id,
      name: investor.name,
      legal_name: investor.legal_name,
      email: investor.email,
      address: investor.address,
      bio: investor.bio,
      deactivated_at: investor.deactivated_at,
      status,
      group_label: line.group === undefined ? groupOf(status) : line.group,
      entity_name: line.investor.via_entity ? (line.investor.legal_name ?? investor.legal_name) : null,
      committed_cents: line.amounts.committed_cents,
      in_escrow_cents: line.amounts.in_escrow_cents === undefined ? 0 : line.amounts.in_escrow_cents,
      applied_at: timeOf(line.applied_at) ?? this.#publishedAt,
      canceled_at: timeOf(line.canceled_at) ?? (status === 'canceled' ? now : null),
      message: line.message ?? null,
      external_username: line.external_username ?? null,
      blockers: JSON.stringify(line.blockers),
      contracts: JSON.stringify(line.contracts),
      converted_to: null,
      converted_from: null,
      hidden: 0,
      deleted_at: null,
      overrides: null,
    };
    const no = insertInvestment(state, source);
    publishFirst(state, no, source, this.#publishedAt);
    this.#first ??= no;
    round.company.investments += 1;
    this.#investments += 1;
    if (this.#investments % progressEvery === 0) this.wanted.progress(this.#investments);
  }

  /** Returns the person with this email. The first line with an email describes the person. */
  #investor(line: InvestmentLine['investor']): Investor {
    const { state, random, now } = this.seeding;
    const known = one<Investor>(
      state,
      `SELECT no AS investor_no, id AS investor_id, name, legal_name, email, address, bio, deactivated_at
       FROM users WHERE email = ?`,
      [line.email],
    );
    if (known !== undefined) {
      if (line.id !== undefined && line.id !== known.investor_id)
        throw this.#fault('investor.id: an earlier line has another id for this email');
      return known;
    }
    if (line.name === undefined) throw this.#fault('investor.name: the first line with an email needs it');
    const id = line.id ?? newId(random, 'usr_');
    const legalName = line.via_entity ? line.name : (line.legal_name ?? line.name);
    const address = line.address == null ? null : JSON.stringify(line.address);
    const bio = line.bio ?? null;
    const { no } = run(
      state,
      `INSERT INTO users (id, email, username, name, legal_name, bio, address, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [id, line.email, `imported-${this.#line}`, line.name, legalName, bio, address, now],
    );
    return {
      investor_no: no,
      investor_id: id,
      name: line.name,
      legal_name: legalName,
      email: line.email,
      address,
      bio,
      deactivated_at: null,
    };
  }
}

const timeOf = (text: string | undefined): number | null => (text === undefined ? null : Date.parse(text));

function groupOf(status: Source['status']): string {
  if (status === 'executed') return 'CONFIRMED';
  return status === 'reserved' ? 'NO PAYMENT YET' : 'PENDING';
}

const isTaken = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_UNIQUE';

/** SQLite says "UNIQUE constraint failed: companies.slug". */
const columnOf = (error: Error): string => error.message.split(': ').at(-1) ?? 'an id';
