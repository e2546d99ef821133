import { listActivity } from '../../../src/contract/activity.js';
import { campaignOperations } from '../../../src/contract/campaigns.js';
import { companyOperations } from '../../../src/contract/companies.js';
import { listConnectedApps, revokeConnectedApp } from '../../../src/contract/connected-apps.js';
import { catalogOperations } from '../../../src/contract/offerings.js';
import {
  getPortfolio,
  getSyndicatePortfolio,
  listPositions,
  listSyndicatePositions,
} from '../../../src/contract/portfolio.js';
import {
  followCompany,
  getMe,
  listMyCompanies,
  listMyFollows,
  unfollowCompany,
} from '../../../src/contract/users.js';
import type { Cells, MatrixRow } from './run.js';

const unauthorized = [401, 'unauthorized'] as const;
const lacking = [403, 'insufficient_scope'] as const;
const forbidden = [403, 'forbidden'] as const;
const missing = [404, 'not_found'] as const;
const gone = { none: unauthorized, garbage: unauthorized } as const;

/** Anyone with a credential: nothing of it depends on who asks. */
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

/** About the person of the token: there is no owner to be a stranger to. */
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

/** Removed before anything but the credential is looked at. */
const removed: Cells = {
  ...open,
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

/** Operations of the catalog, of people and of portfolios, against every kind of credential. */
export const catalogMatrix: readonly MatrixRow[] = [
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
  // The owner's application is connected to the owner alone.
  { operation: revokeConnectedApp, cells: { ...personal, stranger: missing } },
  { operation: listActivity, cells: removed },
  { operation: listActivity, headers: first, cells: personal },
];
