import { grantedScopes, selfServeScopes } from '../../contract/scopes.js';
import { run } from '../../state/statements.js';
import type { AttributionWorld } from '../document.js';
import {
  type SeededUser,
  type Seeding,
  seedApplication,
  seedInstallation,
  seedInstallationToken,
  seedUser,
  seedUserToken,
} from './accounts.js';
import { appDocument } from './live.js';

/** Accepts the attribution terms for the seeded organization. Uses no random values. */
export function acceptTermsForAll({ state, now }: Pick<Seeding, 'state' | 'now'>): void {
  run(
    state,
    'INSERT OR IGNORE INTO attribution_terms (organization_no, accepted_at) SELECT no, ? FROM organizations',
    [now],
  );
}

const programScopes = ['read:attribution:full', 'write:attribution'];
const scopes = ['read:profile', 'read:companies', ...programScopes];

export interface AttributionPlan {
  /** The first company of each realm, with its founder. */
  readonly companies: Readonly<Record<'test' | 'live', { readonly no: number }>>;
  readonly founder: SeededUser;
  readonly investors: readonly SeededUser[];
}

/** Seeds an application of the attribution program, installed on the first company of each realm. */
export function seedAttribution(seeding: Seeding, plan: AttributionPlan): AttributionWorld {
  const partner = seedUser(seeding, 'partner', 'Petra Partner');
  const application = seedApplication(seeding, {
    organization: 'Referral Partners',
    name: 'Attribution Partner',
    members: [[partner, 'owner']],
    scopes: [...selfServeScopes, ...programScopes],
    approved: true,
  });
  run(
    seeding.state,
    `INSERT INTO attribution_partners (user_no, company_name, website, status, created_at)
     VALUES (?, 'Referral Partners', 'https://partners.example', 'approved', ?)`,
    [partner.no, seeding.now],
  );
  acceptTermsForAll(seeding);
  const installed = (realm: 'test' | 'live') => {
    const granted = [...grantedScopes, ...programScopes];
    const { no, id } = seedInstallation(seeding, {
      application: application.no,
      installer: plan.founder,
      tier: 'founder',
      companyNo: plan.companies[realm].no,
      realm,
      scopes: granted,
    });
    const wish = { realm, applicationNo: application.no, installationNo: no, scopes: granted };
    return { id, token: seedInstallationToken(seeding, wish) };
  };
  const test = installed('test');
  const live = installed('live');
  return {
    app: appDocument(application),
    scopes: programScopes,
    installation: test.id,
    token: test.token,
    liveInstallation: live.id,
    liveToken: live.token,
    users: [plan.founder, partner, ...plan.investors].map((user) => ({
      id: user.id,
      email: user.email,
      token: seedUserToken(seeding, application, 'test', user.no, scopes).token,
      liveToken: seedUserToken(seeding, application, 'live', user.no, scopes).token,
    })),
  };
}
