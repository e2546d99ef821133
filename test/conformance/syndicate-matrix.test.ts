import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noProposals } from '../../src/platform/deals/ports.js';
import { dealRoutes } from '../../src/platform/deals/routes.js';
import { joinSessionRoutes } from '../../src/platform/join-sessions/routes.js';
import { memberRoutes } from '../../src/platform/members/routes.js';
import { syndicateRoutes } from '../../src/platform/syndicates/routes.js';
import { callers, type MatrixCaller, syndicateMatrix } from './matrix/syndicates.js';
import {
  applicationToken,
  foundSyndicate,
  makePerson,
  syndicateKey,
  type TestSyndicate,
} from './syndicate-life.js';
import { company, startWorld, type TestWorld } from './world.js';

let world: TestWorld;
let syndicate: TestSyndicate;
let tokens: Readonly<Record<MatrixCaller, string | null>>;

beforeAll(async () => {
  world = await startWorld({ limits: false });
  syndicate = foundSyndicate(world);
  const { creator } = syndicate;
  const elsewhere = foundSyndicate(world);
  // The same person in the other realm: people are shared by both, syndicates are not.
  const live = foundSyndicate(world, 'live');
  tokens = {
    none: null,
    publishable: syndicate.client.clientId,
    application: applicationToken(world, syndicate, ['read:public']),
    unscoped: syndicate.token(creator, ['read:companies', 'read:investments', 'read:profile']),
    readOnly: syndicate.token(creator, ['read:syndicates']),
    otherRealm: live.token(creator),
    stranger: syndicate.token({ person: makePerson(world, 'Stranger') }),
    elsewhere: elsewhere.installationToken,
    companyInstall: company(world).token,
    applicant: syndicate.token(syndicate.add('Apu', 'applicant')),
    member: syndicate.token(syndicate.add('Mia')),
    operator: syndicate.token(syndicate.add('Op', 'operator')),
    fullAccess: syndicate.token(syndicate.add('Max', 'full_access')),
    creator: syndicate.creatorToken,
    installation: syndicate.installationToken,
    key: syndicateKey(world, syndicate),
  };
});
afterAll(() => world.close());

const declared = [...syndicateRoutes, ...memberRoutes, ...joinSessionRoutes, ...dealRoutes(noProposals)]
  .map(({ operation }) => operation)
  .filter(({ scopes }) => scopes !== null);

test('the matrix has a row for every operation of syndicates', () => {
  expect(syndicateMatrix.map((row) => row.operation).sort()).toEqual(declared.map(({ id }) => id).sort());
});

describe('SEC-14 SYN-01 who reaches which operation of a syndicate', () => {
  for (const row of syndicateMatrix) {
    test(row.operation, async () => {
      const operation = declared.find(({ id }) => id === row.operation);
      if (operation === undefined) throw new Error(`${row.operation} is not declared`);
      const answered: Record<string, number> = {};
      for (const caller of callers) {
        const { path, body } = row.request(world, syndicate);
        const token = tokens[caller];
        const answer = await world.send(operation.method, path, {
          ...(token === null ? {} : { token }),
          ...(body === undefined ? {} : { body }),
        });
        answered[caller] = answer.status;
        // What is answered is what is declared: nothing missing, nothing more.
        const schema = operation.responses[answer.status]?.schema;
        if (schema !== undefined) expect(schema.parse(answer.body)).toEqual(answer.body);
      }
      expect(answered).toEqual(row.expected);
    });
  }
});
