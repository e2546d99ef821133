import { grantedScopes, selfServeScopes } from '../../contract/scopes.js';
import { insertInvestment } from '../../investments/model.js';
import { appendFirst, publishFirst } from '../../investments/publisher.js';
import { newId } from '../../state/secrets.js';
import { run } from '../../state/statements.js';
import type { LiveRealm, WorldApp, WorldCompany, WorldSyndicate } from '../document.js';
import {
  type SeededApplication,
  type SeededUser,
  type Seeding,
  sandboxRedirectUri,
  seedApplication,
  seedInstallation,
  seedInstallationToken,
  seedSyndicateKey,
  seedUser,
  seedUserToken,
} from './accounts.js';
import { seedProfile, seedTerms } from './catalog.js';
import { seedOfferings } from './companies.js';
import { inventInvestment } from './investments.js';
import { seedMembers } from './memberships.js';
import { seedTabs } from './tabs.js';

/** Enough for two pages of the smallest useful size; large worlds are made of sandbox companies. */
const recordsMax = 24;
const names = ['Daylight Bakery', 'Evergreen Ferries'];

export interface LivePlan {
  /** The application that is installed in the sandbox realm too. */
  readonly application: SeededApplication;
  /** A founder for each live company: the founders of the sandbox companies, who have live tokens. */
  readonly founders: readonly SeededUser[];
  /** They own the records of the live companies. */
  readonly investors: readonly SeededUser[];
  readonly records: number;
}

/**
 * Seeds the live realm: two companies and a syndicate with installations, and an application that was not reviewed. It
 * shares users with the sandbox realm, as on the platform, and nothing else.
 */
export function seedLive(seeding: Seeding, plan: LivePlan): LiveRealm {
  const companies = plan.founders
    .slice(0, names.length)
    .map((founder, index) => seedCompany(seeding, plan, founder, index));
  return {
    companies: companies.map(({ document }) => document),
    syndicates: companies.slice(0, 1).map((company) => seedSyndicate(seeding, plan, company)),
    unreviewed: seedUnreviewed(seeding),
  };
}

interface LiveCompany {
  readonly document: WorldCompany;
  readonly founder: SeededUser;
  /** The round that the syndicate brings its members to. */
  readonly dealNo: number;
}

function seedCompany(seeding: Seeding, plan: LivePlan, founder: SeededUser, index: number): LiveCompany {
  const { state, random, now } = seeding;
  const { application } = plan;
  const id = newId(random, 'co_');
  const name = names[index] ?? '';
  const slug = `live-company-${index + 1}`;
  const { no } = run(
    state,
    `INSERT INTO companies (id, realm, name, slug, tagline, created_at) VALUES (?, 'live', ?, ?, ?, ?)`,
    [id, name, slug, 'A live company that does not exist either.', now],
  );
  run(
    state,
    `INSERT INTO company_members (company_no, user_no, tier, can_edit) VALUES (?, ?, 'founder', 1)`,
    [no, founder.no],
  );
  const offerings = seedOfferings(seeding, no, index);
  seedProfile(seeding, no, slug, { industries: ['consumer_goods'], models: ['b2c'] });
  for (const offering of offerings) seedTerms(seeding, offering);
  const installation = seedInstallation(seeding, {
    application: application.no,
    installer: founder,
    tier: 'founder',
    companyNo: no,
    realm: 'live',
  });
  const token = (scopes: readonly string[]): string =>
    seedInstallationToken(seeding, {
      realm: 'live',
      applicationNo: application.no,
      installationNo: installation.no,
      scopes,
    });
  const investments = Math.min(plan.records, recordsMax);
  for (let number = 0; number < investments; number += 1) {
    const investor = plan.investors[number % plan.investors.length];
    if (investor !== undefined) seedInvestment(seeding, { no, id, offerings }, investor);
  }
  const lead = offerings[0]?.no ?? 0;
  seedTabs(seeding, { no, name, offeringNo: lead, founder, askers: plan.investors, complete: true });
  return {
    founder,
    dealNo: offerings[1]?.no ?? lead,
    document: {
      id,
      name,
      offering: offerings[0]?.id ?? '',
      offerings: offerings.map((offering) => offering.id),
      founder: founder.id,
      installation: installation.id,
      token: token(grantedScopes),
      tokenWithoutIdentity: token(grantedScopes.filter((scope) => scope !== 'read:investors:pii')),
      investments,
    },
  };
}

/** Publishes at the end of the feed, which both realms share. */
function seedInvestment(
  { state, random, now }: Seeding,
  company: Parameters<typeof inventInvestment>[2],
  user: SeededUser,
): void {
  const investor = {
    investor_no: user.no,
    investor_id: user.id,
    name: user.name,
    legal_name: user.name,
    email: user.email,
    address: null,
    bio: null,
    deactivated_at: null,
  };
  const invented = inventInvestment(random, now, company, investor);
  const no = insertInvestment(state, invented);
  publishFirst(state, no, invented, now);
  appendFirst(state, no);
}

function seedSyndicate(seeding: Seeding, { application }: LivePlan, company: LiveCompany): WorldSyndicate {
  const { state, random, now } = seeding;
  const { founder: manager } = company;
  const id = newId(random, 'syn_');
  const { no } = run(
    state,
    `INSERT INTO syndicates (id, realm, name, slug, created_by_no, created_at) VALUES (?, 'live', ?, ?, ?, ?)`,
    [id, 'Live Syndicate', 'live-syndicate', manager.no, now],
  );
  run(
    state,
    `INSERT INTO syndicate_managers (syndicate_no, user_no, permission) VALUES (?, ?, 'full_access')`,
    [no, manager.no],
  );
  seedMembers(seeding, { no, created_by_no: manager.no }, 2, company.dealNo);
  const installation = seedInstallation(seeding, {
    application: application.no,
    installer: manager,
    tier: 'full_access',
    syndicateNo: no,
    realm: 'live',
  });
  const wish = { realm: 'live', applicationNo: application.no, scopes: grantedScopes } as const;
  return {
    id,
    installation: installation.id,
    token: seedInstallationToken(seeding, { ...wish, installationNo: installation.no }),
    key: seedSyndicateKey(seeding, { ...wish, syndicateNo: no }),
  };
}

function seedUnreviewed(seeding: Seeding): LiveRealm['unreviewed'] {
  const owner = seedUser(seeding, 'newcomer', 'Nora Newcomer');
  const application = seedApplication(seeding, {
    organization: 'Unreviewed Studio',
    name: 'Unreviewed App',
    members: [[owner, 'owner']],
    scopes: selfServeScopes,
    approved: false,
  });
  const token = (realm: 'test' | 'live') =>
    seedUserToken(seeding, application, realm, owner.no, grantedScopes).token;
  return {
    ...appDocument(application),
    owner: { id: owner.id, email: owner.email, token: token('test'), liveToken: token('live') },
  };
}

export const appDocument = (application: SeededApplication): WorldApp => ({
  name: application.name,
  ...application.test,
  redirectUri: sandboxRedirectUri,
  live: application.live,
});
