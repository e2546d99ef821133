import { afterAll, beforeAll } from 'vitest';
import type { Operation } from '../../../src/contract/operation.js';
import { selfServeScopes } from '../../../src/contract/scopes.js';
import { expandScopes } from '../../../src/platform/http/scopes.js';
import { makeClient, type TestClient, userToken } from '../credentials.js';
import { company, startWorld, type TestWorld } from '../world.js';
import { type CredentialKind, testMatrix } from './run.js';
import { sessionMatrix } from './sessions.js';

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

const program = ['read:attribution:full', 'write:attribution'];

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

testMatrix(
  (operation) => `SEC-14 every credential at ${operation.id}`,
  sessionMatrix,
  () => ({ world, token }),
  (operation) =>
    operation.path
      .replace(/^\/(offerings|campaigns)\/\{id\}/, `/$1/${company(world).offerings[1]}`)
      .replace(/\{[^}]+\}/g, 'nothing'),
);
