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

export interface SeededCompany {
  readonly no: number;
  readonly id: string;
  readonly name: string;
  readonly installation: string;
  readonly token: string;
  readonly tokenWithoutIdentity: string;
  readonly founder: SeededUser;
  readonly offerings: readonly SeededOffering[];
}

/** Seeds a company with a founder, a read-only administrator, its rounds and an installation of the application. */
export function seedCompany(seeding: Seeding, application: number, index: number): SeededCompany {
  const { state, random, now } = seeding;
  const id = newId(random, 'co_');
  const name = `${pick(random, firstWords)} ${pick(random, secondWords)} ${index + 1}`;
  const { no } = run(
    state,
    `INSERT INTO companies (id, realm, name, slug, tagline, created_at) VALUES (?, 'test', ?, ?, ?, ?)`,
    [id, name, `sandbox-company-${index + 1}`, 'A company that does not exist.', now],
  );
  const founder = seedUser(seeding, `founder${index + 1}`, `Founder ${index + 1}`);
  const reader = seedUser(seeding, `admin${index + 1}`, `Administrator ${index + 1}`);
  const member = 'INSERT INTO company_members (company_no, user_no, tier, can_edit) VALUES (?, ?, ?, ?)';
  run(state, member, [no, founder.no, 'founder', 1]);
  run(state, member, [no, reader.no, 'admin', 0]);
  const installation = seedInstallation(seeding, {
    application,
    installer: founder,
    tier: 'founder',
    companyNo: no,
  });
  return {
    no,
    id,
    name,
    founder,
    installation: installation.id,
    token: installationToken(seeding, application, installation.no, grantedScopes),
    tokenWithoutIdentity: installationToken(seeding, application, installation.no, scopesWithoutIdentity),
    offerings: seedOfferings(seeding, no, index),
  };
}

/** Each company has a round with shares and one without. Every third raises in euros, every second tests the waters. */
export function seedOfferings(seeding: Seeding, companyNo: number, index: number): readonly SeededOffering[] {
  const currency = index % 3 === 2 ? 'eur' : 'usd';
  const offeringType = currency === 'eur' ? 'ECSP' : 'Reg CF';
  const offerings = [
    offering(seeding, companyNo, currency, 'Equity', offeringType, between(seeding.random, 75, 900), false),
    offering(seeding, companyNo, currency, 'SAFE', offeringType, null, false),
  ];
  if (index % 2 === 0)
    offerings.push(offering(seeding, companyNo, currency, 'SAFE', offeringType, null, true));
  return offerings;
}

function offering(
  seeding: Seeding,
  companyNo: number,
  currency: string,
  investmentType: string,
  offeringType: string,
  sharePriceCents: number | null,
  reservations: boolean,
): SeededOffering {
  const id = newId(seeding.random, 'ofr_');
  const { no } = run(
    seeding.state,
    `INSERT INTO offerings (id, company_no, currency, investment_type, offering_type, share_price_cents, testing_the_waters, started_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      companyNo,
      currency,
      investmentType,
      offeringType,
      sharePriceCents,
      reservations ? 1 : 0,
      seeding.now,
      seeding.now,
    ],
  );
  return {
    no,
    id,
    currency,
    investment_type: investmentType,
    offering_type: offeringType,
    share_price_cents: sharePriceCents,
    reservations,
  };
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
