import { afterAll, beforeAll, expect, test } from 'vitest';
import { activityOperations } from '../../../src/contract/activity.js';
import { connectedAppOperations, revokeConnectedApp } from '../../../src/contract/connected-apps.js';
import type { Operation } from '../../../src/contract/operation.js';
import { paths } from '../../../src/contract/paths.js';
import { portfolioOperations } from '../../../src/contract/portfolio.js';
import { selfServeScopes } from '../../../src/contract/scopes.js';
import { userOperations } from '../../../src/contract/users.js';
import { expandScopes } from '../../../src/platform/http/scopes.js';
import { one } from '../../../src/platform/state/statements.js';
import { applicationToken, companyOf, publishableKey, roundOf } from '../catalog.js';
import { makeClient, type TestClient, userToken } from '../credentials.js';
import { startWorld, type TestWorld } from '../world.js';
import { catalogMatrix } from './catalog.js';
import { type CredentialKind, testMatrix } from './run.js';

let world: TestWorld;
let client: TestClient;
let connected: TestClient;
const owner = 'founder1@people.example';
const stranger = 'backer1@people.example';

beforeAll(async () => {
  world = await startWorld({ limits: false });
  client = makeClient(world, { scopes: [...selfServeScopes] });
  connected = makeClient(world, { name: 'To be disconnected' });
  userToken(world, connected, owner, ['read:profile']);
});
afterAll(() => world.close());

/** The person's own scopes without any that would admit, also by implication. */
const otherScopes = (operation: Operation) =>
  selfServeScopes.filter(
    (scope) => !operation.scopes?.some((admitting) => expandScopes([scope]).has(admitting)),
  );

function token(kind: CredentialKind, operation: Operation): string | undefined {
  const asked = operation.scopes?.length === 0 ? ['read:profile'] : (operation.scopes ?? []);
  switch (kind) {
    case 'none':
      return undefined;
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
      return userToken(world, client, owner, otherScopes(operation));
    case 'company':
      return world.ready.companies[0]?.token;
    case 'otherCompany':
      return world.ready.companies[1]?.token;
    case 'syndicate':
      return world.ready.syndicates[0]?.token;
    case 'otherSyndicate':
      return world.ready.syndicates[1]?.token;
  }
}

function pathOf(operation: Operation): string {
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

testMatrix(
  (operation) => `OAUTH-25 OAUTH-26 ERR-09 ERR-11 SEC-01 ${operation.id}: every kind of credential`,
  catalogMatrix,
  () => ({ world, token }),
  pathOf,
);

test('the table leaves no operation of a person out', () => {
  const listed = new Set(catalogMatrix.map((row) => row.operation.id));
  for (const { id } of [
    ...userOperations,
    ...portfolioOperations,
    ...connectedAppOperations,
    ...activityOperations,
  ]) {
    expect(listed, id).toContain(id);
  }
  expect(revokeConnectedApp.scopes).toEqual(['write:profile']);
});
