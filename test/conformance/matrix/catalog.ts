import { defined } from '../../../src/domain/defined.js';
import { listActivity } from '../../../src/platform/contract/activity.js';
import { campaignOperations } from '../../../src/platform/contract/campaigns.js';
import { companyOperations } from '../../../src/platform/contract/companies.js';
import { listConnectedApps, revokeConnectedApp } from '../../../src/platform/contract/connected-apps.js';
import { catalogOperations } from '../../../src/platform/contract/offerings.js';
import type { Operation } from '../../../src/platform/contract/operation.js';
import {
  getPortfolio,
  getSyndicatePortfolio,
  listPositions,
  listSyndicatePositions,
} from '../../../src/platform/contract/portfolio.js';
import { selfServeScopes } from '../../../src/platform/contract/scopes.js';
import {
  followCompany,
  getMe,
  listMyCompanies,
  listMyFollows,
  unfollowCompany,
} from '../../../src/platform/contract/users.js';
import { expandScopes } from '../../../src/platform/http/scopes.js';
import { one } from '../../../src/platform/state/statements.js';
import { paths } from '../../../src/wire/paths.js';
import { applicationToken, companyOf, publishableKey, roundOf } from '../catalog.js';
import { makeClient, type TestClient, userToken } from '../credentials.js';
import type { RunningPlatform } from '../running-platform.js';
import { type Cells, type CredentialKind, credentialKinds } from './credential-kinds.js';
import { defineTable } from './table.js';

const unauthorized = '401 unauthorized';
const lacking = '403 insufficient_scope';
const forbidden = '403 forbidden';
const missing = '404 not_found';
const gone = { none: unauthorized, garbage: unauthorized } as const;

/** Any caller with a credential gets the same response. */
const open: Cells = {
  ...gone,
  publishable: 200,
  application: 200,
  owner: 200,
  stranger: 200,
  unscoped: 200,
  company: 200,
  otherCompany: 200,
  syndicate: 200,
  otherSyndicate: 200,
};

/** About the user of the token: there is no owner and no stranger. */
const personal: Cells = {
  ...gone,
  publishable: lacking,
  application: lacking,
  owner: 200,
  stranger: 200,
  unscoped: lacking,
  company: forbidden,
  otherCompany: forbidden,
  syndicate: forbidden,
  otherSyndicate: forbidden,
};

/** Removed before anything is checked but whether a credential, if there is one, is valid. */
const removed: Cells = {
  ...open,
  none: missing,
  publishable: missing,
  application: missing,
  owner: missing,
  stranger: missing,
  unscoped: missing,
  company: missing,
  otherCompany: missing,
  syndicate: missing,
  otherSyndicate: missing,
};

const managed: Cells = {
  ...personal,
  stranger: missing,
  company: forbidden,
  otherCompany: forbidden,
  syndicate: 200,
  otherSyndicate: forbidden,
};

const first = { 'Service-Version': '2026-10-01' };

interface CatalogRow {
  readonly operation: Operation;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cells: Cells;
}

const rows: readonly CatalogRow[] = [
  ...[...catalogOperations, ...companyOperations].map((operation) => ({ operation, cells: open })),
  { operation: getMe, cells: { ...personal, unscoped: 200 } },
  { operation: listMyCompanies, cells: personal },
  { operation: listMyFollows, cells: personal },
  { operation: followCompany, cells: personal },
  { operation: unfollowCompany, cells: personal },
  ...campaignOperations.map((operation) => ({
    operation,
    cells: { ...personal, company: 200, otherCompany: 200 },
  })),
  { operation: getPortfolio, cells: personal },
  { operation: listPositions, cells: personal },
  { operation: getSyndicatePortfolio, cells: managed },
  { operation: listSyndicatePositions, cells: managed },
  { operation: listConnectedApps, cells: personal },
  // The owner's application is connected to the owner only.
  { operation: revokeConnectedApp, cells: { ...personal, stranger: missing } },
  { operation: listActivity, cells: removed },
  { operation: listActivity, headers: first, cells: personal },
];

interface Stage {
  readonly world: RunningPlatform;
  readonly client: TestClient;
  /** An application the owner has consented to and may disconnect. */
  readonly connected: TestClient;
}

const owner = 'founder1@people.example';
const stranger = 'backer1@people.example';

function credential({ world, client }: Stage, kind: CredentialKind, operation: Operation): string | null {
  const asked = operation.scopes?.length === 0 ? ['read:profile'] : (operation.scopes ?? []);
  // The person's scopes without any that grants access, directly or by implication.
  const others = selfServeScopes.filter((scope) => !asked.some((one) => expandScopes([scope]).has(one)));
  switch (kind) {
    case 'none':
      return null;
    case 'garbage':
      return `at_test_${'x'.repeat(40)}`;
    case 'publishable':
      return publishableKey(world);
    case 'application':
      return applicationToken(world, client);
    case 'owner':
      return userToken(world, client, owner, asked);
    case 'stranger':
      return userToken(world, client, stranger, asked);
    case 'unscoped':
      return userToken(world, client, owner, operation.scopes?.length === 0 ? selfServeScopes : others);
    case 'company':
      return world.ready.companies[0]?.token ?? null;
    case 'otherCompany':
      return world.ready.companies[1]?.token ?? null;
    case 'syndicate':
      return world.ready.syndicates[0]?.token ?? null;
    case 'otherSyndicate':
      return world.ready.syndicates[1]?.token ?? null;
  }
}

function pathOf({ world, connected }: Stage, operation: Operation): string {
  const company = companyOf(world, 'harbour-lanterns');
  const post = one<{ id: string }>(
    world.services.state,
    `SELECT id FROM company_updates WHERE company_no = ? AND visibility = 'public'`,
    [company.no],
  );
  const values: Readonly<Record<string, string>> = {
    id: company.id,
    company_id: company.id,
    update_id: post?.id ?? '',
    external_id: roundOf(world, 'harbour-lanterns').id,
    syndicate_id: world.ready.syndicates[0]?.id ?? '',
    app_id: String(connected.applicationNo),
  };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  return operation.path === paths.companySearch ? `${path}?q=harbour` : path;
}

/** Operations of the catalog, of users and of portfolios. */
export const catalogTable = defineTable<CredentialKind, Stage>({
  name: 'OAUTH-25 OAUTH-26 ERR-11 the catalog, people and portfolios',
  callers: credentialKinds,
  stage: (world) => {
    const connected = makeClient(world, { name: 'To be disconnected' });
    userToken(world, connected, owner, ['read:profile']);
    return { world, client: makeClient(world, { scopes: [...selfServeScopes] }), connected };
  },
  credential,
  rows: rows.map(({ operation, headers, cells }) => ({
    operation: operation.id,
    ...(headers === undefined ? {} : { about: 'in the first version' }),
    expected: cells,
    request: (stage) => ({ path: pathOf(stage, operation), ...defined({ headers }) }),
  })),
});
