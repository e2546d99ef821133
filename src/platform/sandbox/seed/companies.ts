import { grantedScopes } from '../../contract/scopes.js';
import { mintToken } from '../../oauth/mint.js';
import { newId } from '../../state/secrets.js';
import { run } from '../../state/statements.js';
import { type SeededUser, type Seeding, seedInstallation, seedUser } from './accounts.js';
import { between, pick } from './picks.js';

const firstWords = [
  'Northwind',
  'Blåbær',
  'Sol',
  'Copper',
  'Árbol',
  'Quiet',
  'Harbour',
  'Kiwi',
  'Lumen',
  'Tidal',
];
const secondWords = [
  'Robotics',
  'Foods',
  'Energy',
  'Optics',
  'Brewing',
  'Games',
  'Health',
  'Textiles',
  'Labs',
];

export interface SeededOffering {
  readonly no: number;
  readonly id: string;
  readonly currency: string;
  readonly investment_type: string;
  readonly offering_type: string;
  readonly share_price_cents: number | null;
  readonly reservations: boolean;
}

/** An installation of the application with two tokens. */
export interface SeededInstall {
  readonly installation: string;
  readonly token: string;
  readonly tokenWithoutIdentity: string;
}

/** A company with people. */
export interface PeopledCompany {
  readonly no: number;
  readonly id: string;
  readonly name: string;
  readonly founder: SeededUser;
}

export interface SeededCompany extends PeopledCompany {
  /** Null: the application is not installed. */
  readonly install: SeededInstall | null;
  /** Rounds that take investments or reservations. */
  readonly offerings: readonly SeededOffering[];
}

/** Seeds a company. Without an application, it has installed none. */
export function seedCompany(seeding: Seeding, application: number | null, index: number): SeededCompany {
  const { random } = seeding;
  const id = newId(random, 'co_');
  const name = `${pick(random, firstWords)} ${pick(random, secondWords)} ${index + 1}`;
  const peopled = seedPeopledCompany(seeding, {
    id,
    name,
    slug: `sandbox-company-${index + 1}`,
    tagline: 'A company that does not exist.',
    number: index + 1,
  });
  const install = application === null ? null : seedInstall(seeding, application, peopled);
  return { ...peopled, install, offerings: seedOfferings(seeding, peopled.no, index) };
}

export interface CompanyPlan {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly tagline: string;
  /** In the names and addresses of its people. */
  readonly number: number;
}

/** Seeds a company with a founder and a read-only administrator. */
export function seedPeopledCompany(
  seeding: Seeding,
  { id, name, slug, tagline, number }: CompanyPlan,
): PeopledCompany {
  const { state, now } = seeding;
  const { no } = run(
    state,
    `INSERT INTO companies (id, realm, name, slug, tagline, created_at) VALUES (?, 'test', ?, ?, ?, ?)`,
    [id, name, slug, tagline, now],
  );
  const founder = seedUser(seeding, `founder${number}`, `Founder ${number}`);
  const reader = seedUser(seeding, `admin${number}`, `Administrator ${number}`);
  const member = 'INSERT INTO company_members (company_no, user_no, tier, can_edit) VALUES (?, ?, ?, ?)';
  run(state, member, [no, founder.no, 'founder', 1]);
  run(state, member, [no, reader.no, 'admin', 0]);
  return { no, id, name, founder };
}

/** Installs the application, as the founder would, and mints a token with identity and one without. */
export function seedInstall(seeding: Seeding, application: number, company: PeopledCompany): SeededInstall {
  const installation = seedInstallation(seeding, {
    application,
    installer: company.founder,
    tier: 'founder',
    companyNo: company.no,
  });
  return {
    installation: installation.id,
    token: installationToken(seeding, application, installation.no, grantedScopes),
    tokenWithoutIdentity: installationToken(seeding, application, installation.no, scopesWithoutIdentity),
  };
}

/** Each company has a round with shares and one without. Every third raises in euros, every second tests the waters. */
export function seedOfferings(seeding: Seeding, companyNo: number, index: number): readonly SeededOffering[] {
  const inEuros = index % 3 === 2;
  const safe = {
    currency: inEuros ? 'eur' : 'usd',
    investment_type: 'SAFE',
    offering_type: inEuros ? 'ECSP' : 'Reg CF',
    share_price_cents: null,
    reservations: false,
  };
  const share_price_cents = between(seeding.random, 75, 900);
  const offerings = [
    seedOffering(seeding, companyNo, { ...safe, investment_type: 'Equity', share_price_cents }),
    seedOffering(seeding, companyNo, safe),
  ];
  if (index % 2 === 0) offerings.push(seedOffering(seeding, companyNo, { ...safe, reservations: true }));
  return offerings;
}

/** How long ago the past round of a company began and ended. */
const pastBegan = 540 * 86_400_000;
export const pastEnded = 150 * 86_400_000;

/** Seeds a closed SAFE round of a company, which has the older investments of its open one. */
export function seedPastRound(
  seeding: Seeding,
  { no, offerings }: Pick<SeededCompany, 'no' | 'offerings'>,
): SeededOffering {
  const like = offerings.find(isPlainSafe);
  if (like === undefined) throw new Error('a seeded company has a SAFE round');
  const { now } = seeding;
  const past = seedOffering(seeding, no, like);
  run(
    seeding.state,
    `UPDATE offerings SET status = 'closed', started_at = ?, closed_at = ?, created_at = ? WHERE no = ?`,
    [now - pastBegan, now - pastEnded, now - pastBegan, past.no],
  );
  return past;
}

/** Whether a round can have begun as a continuation of the past one. */
export const isPlainSafe = (round: SeededOffering): boolean =>
  round.investment_type === 'SAFE' && !round.reservations;

function seedOffering(
  seeding: Seeding,
  companyNo: number,
  terms: Omit<SeededOffering, 'no' | 'id'>,
): SeededOffering {
  const id = newId(seeding.random, 'ofr_');
  const { no } = run(
    seeding.state,
    `INSERT INTO offerings (id, company_no, currency, investment_type, offering_type, share_price_cents, testing_the_waters, started_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      companyNo,
      terms.currency,
      terms.investment_type,
      terms.offering_type,
      terms.share_price_cents,
      terms.reservations ? 1 : 0,
      seeding.now,
      seeding.now,
    ],
  );
  const { currency, investment_type, offering_type, share_price_cents, reservations } = terms;
  return { no, id, currency, investment_type, offering_type, share_price_cents, reservations };
}

export function seedSyndicate(seeding: Seeding, application: number, manager: SeededUser, index: number) {
  const { state, random, now } = seeding;
  const id = newId(random, 'syn_');
  const { no } = run(
    state,
    `INSERT INTO syndicates (id, realm, name, slug, created_by_no, created_at) VALUES (?, 'test', ?, ?, ?, ?)`,
    [id, `Sandbox Syndicate ${index + 1}`, `sandbox-syndicate-${index + 1}`, manager.no, now],
  );
  run(
    state,
    `INSERT INTO syndicate_managers (syndicate_no, user_no, permission) VALUES (?, ?, 'full_access')`,
    [no, manager.no],
  );
  const installation = seedInstallation(seeding, {
    application,
    installer: manager,
    tier: 'full_access',
    syndicateNo: no,
  });
  const token = installationToken(seeding, application, installation.no, grantedScopes);
  return { id, installation: installation.id, token };
}

const scopesWithoutIdentity = grantedScopes.filter((scope) => scope !== 'read:investors:pii');

function installationToken(
  seeding: Seeding,
  applicationNo: number,
  installationNo: number,
  scopes: readonly string[],
): string {
  const wish = { kind: 'installation', realm: 'test', applicationNo, installationNo, scopes } as const;
  return mintToken(seeding, wish, seeding.now).token;
}
