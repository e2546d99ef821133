import { afterAll, beforeAll } from 'vitest';
import { attributionInvestments, attributionStats } from '../../../src/contract/attribution.js';
import { createIntent, getIntent, listIntents, previewIntent } from '../../../src/contract/intents.js';
import * as invites from '../../../src/contract/invite-links.js';
import type { Operation } from '../../../src/contract/operation.js';
import * as referrals from '../../../src/contract/referrals.js';
import { selfServeScopes } from '../../../src/contract/scopes.js';
import * as sessions from '../../../src/contract/sessions.js';
import { expandScopes } from '../../../src/platform/http/scopes.js';
import { makeClient, type TestClient, userToken } from '../credentials.js';
import { company, startWorld, type TestWorld } from '../world.js';
import { type Cells, type CredentialKind, type MatrixRow, testMatrix } from './run.js';

let world: TestWorld;
let client: TestClient;
let application: string;
/** The sandbox's own application is installed everywhere; a person acts through it. */
let own: TestClient;

beforeAll(async () => {
  world = await startWorld({ limits: false });
  client = makeClient(world, { scopes: [...selfServeScopes] });
  const app = world.ready.apps[0];
  own = { ...client, applicationNo: 1, clientId: app?.clientId ?? '', secret: app?.clientSecret ?? '' };
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: own.clientId,
    client_secret: own.secret,
    scope: 'write:referral_codes',
  });
  application = (await world.post('/oauth/token', { body })).body.access_token;
});
afterAll(() => world.close());

const program = ['read:attribution:full'];

function token(kind: CredentialKind, operation: Operation): string | undefined {
  const asked = operation.scopes ?? [];
  const others = selfServeScopes.filter((scope) => !asked.some((one) => expandScopes([scope]).has(one)));
  const attribution = asked.some((scope) => scope.includes('attribution'));
  switch (kind) {
    case 'none':
      return undefined;
    case 'garbage':
      return 'at_test_nothing';
    case 'publishable':
      return own.clientId;
    case 'application':
      return application;
    case 'owner':
      return userToken(world, own, 'founder1@people.example', attribution ? program : asked);
    case 'stranger':
      return userToken(world, own, 'ida@people.example', attribution ? program : asked);
    case 'unscoped':
      return userToken(world, own, 'founder1@people.example', others);
    case 'company':
      return company(world).token;
    case 'otherCompany':
      return company(world, 1).token;
    case 'syndicate':
      return world.ready.syndicates[0]?.token ?? '';
    case 'otherSyndicate':
      return world.ready.syndicates[1]?.token ?? '';
  }
}

const unauthorized = [401, 'unauthorized'] as const;
const lacking = [403, 'insufficient_scope'] as const;
const forbidden = [403, 'forbidden'] as const;
const missing = [404, 'not_found'] as const;
const invalid = [422, 'validation_error'] as const;
const unscoped = {
  none: unauthorized,
  garbage: unauthorized,
  publishable: lacking,
  application: lacking,
  unscoped: lacking,
} as const;

/** On an offering of the company: whoever runs it gets `answer`, a stranger learns nothing, a bound token is told. */
const onOffering = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: missing,
  company: answer,
  otherCompany: forbidden,
  // The syndicate that brings its members to the round runs it as well.
  syndicate: answer,
  otherSyndicate: forbidden,
});

/** Nothing of an account can be a stranger's. */
const ofAccount = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: answer,
  company: answer,
  otherCompany: answer,
  syndicate: answer,
  otherSyndicate: answer,
});

const credentials = [403, 'app_credentials_required'] as const;
const ofApplication = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  application: answer,
  owner: credentials,
  stranger: credentials,
  unscoped: credentials,
  company: credentials,
  otherCompany: credentials,
  syndicate: credentials,
  otherSyndicate: credentials,
});

/** The sandbox's installations hold no scope of a program. */
const ofProgram: Cells = {
  ...onOffering(200),
  company: lacking,
  otherCompany: lacking,
  syndicate: lacking,
  otherSyndicate: lacking,
};

/** Bodies are empty: what has passed every gate is told what is missing. */
const rows: readonly MatrixRow[] = [
  { operation: sessions.listOfferingSessions, cells: onOffering(200) },
  { operation: sessions.createSession, cells: onOffering(invalid) },
  { operation: sessions.listSessions, cells: ofAccount(200) },
  { operation: sessions.getSession, cells: ofAccount(missing) },
  { operation: sessions.cancelSession, cells: ofAccount(missing) },
  { operation: createIntent, cells: ofAccount(invalid) },
  { operation: previewIntent, cells: ofAccount(invalid) },
  { operation: listIntents, cells: ofAccount(200) },
  { operation: getIntent, cells: ofAccount(missing) },
  { operation: invites.listInviteLinks, cells: onOffering(200) },
  { operation: invites.createInviteLink, cells: onOffering(invalid) },
  { operation: invites.bulkInviteLinks, cells: onOffering(invalid) },
  { operation: invites.getInviteLink, cells: onOffering(missing) },
  { operation: invites.updateInviteLink, cells: onOffering(invalid) },
  { operation: invites.cancelInviteLink, cells: onOffering(missing) },
  { operation: invites.resendInviteLink, cells: onOffering(missing) },
  { operation: referrals.createReferralCode, cells: ofApplication(201) },
  { operation: referrals.listReferralCodes, cells: ofApplication(200) },
  { operation: referrals.getReferralCode, cells: ofApplication(missing) },
  { operation: referrals.disableReferralCode, cells: ofApplication(missing) },
  { operation: attributionStats, cells: ofProgram },
  { operation: attributionInvestments, cells: ofProgram },
];

testMatrix(
  (operation) => `SEC-14 every credential at ${operation.id}`,
  rows,
  () => ({ world, token }),
  (operation) =>
    operation.path
      .replace(/^\/(offerings|campaigns)\/\{id\}/, `/$1/${company(world).offerings[1]}`)
      .replace(/\{[^}]+\}/g, 'nothing'),
);
