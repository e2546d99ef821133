import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { oas31 } from 'zod-openapi';
import type { Operation } from '../../src/platform/contract/operation.js';
import { createReferralCode } from '../../src/platform/contract/referrals.js';
import { allScopes, impliedScopes, universalScope } from '../../src/platform/contract/scopes.js';
import { securityOf } from '../../src/platform/openapi/security.js';
import { apiDescription, declaredOperations } from '../tools/api-description.js';
import { type Cast, type CastName, makeCast } from './matrix/cast.js';
import type { OpenTable } from './matrix/table.js';
import { tables } from './matrix/tables.js';
import { type Answered, type RunningPlatform, startPlatform } from './running-platform.js';

const operations = new Map(declaredOperations().map((operation) => [operation.id, operation]));
const guarded = [...operations.values()].filter(({ scopes }) => scopes !== null);
const open = [...operations.values()].filter(({ scopes }) => scopes === null);

function declared(id: string): Operation {
  const found = operations.get(id);
  if (found === undefined) throw new Error(`no operation is called ${id}`);
  return found;
}

/** Sends the request and rolls back everything it changed, so that every cell starts from the same data. */
async function undone(world: RunningPlatform, ask: () => Promise<Answered>): Promise<Answered> {
  const { state } = world.services;
  state.exec('SAVEPOINT cell');
  try {
    return await ask();
  } finally {
    state.exec('ROLLBACK TO cell');
    state.exec('RELEASE cell');
  }
}

test('SEC-01 the matrix has a row for every operation that needs a credential', () => {
  const told = new Set(tables.flatMap(({ rows }) => rows).map(({ operation }) => operation));
  const credentials = Object.values(apiDescription().paths ?? {}).flatMap((item) =>
    Object.values(item as Readonly<Record<string, { operationId: string; 'x-scopes'?: unknown }>>)
      .filter((operation) => operation['x-scopes'] !== undefined)
      .map(({ operationId }) => operationId),
  );
  expect(credentials.sort()).toEqual(guarded.map(({ id }) => id).sort());
  expect(credentials.filter((id) => !told.has(id))).toEqual([]);
});

describe.each(tables)('$name', (table) => {
  let world: RunningPlatform;
  let stage: OpenTable;
  beforeAll(async () => {
    world = await startPlatform({ limits: false });
    stage = await table.open(world);
  });
  afterAll(() => world.close());

  test.each(table.rows.map((row, index) => ({ ...row, index })))(
    '$operation $about',
    async ({ operation, index, cells }) => {
      const { method } = declared(operation);
      const found: Record<string, unknown> = {};
      for (const [caller, expected] of cells) {
        const answer = await undone(world, () => {
          const { path, token, ...sending } = stage.ask(index, caller, declared(operation));
          return world.send(method, path, { ...sending, ...(token === null ? {} : { token }) });
        });
        const full = answer.status < 400 ? answer.status : `${answer.status} ${answer.body.error?.type}`;
        found[caller] = typeof expected === 'number' ? answer.status : full;
        if (answer.status < 300) stage.sees(index, caller, answer.body);
      }
      expect(found).toEqual(Object.fromEntries(cells));
    },
  );
});

/** The security scheme of each caller of the tables. A caller without a credential has none. */
const schemes: Readonly<Record<string, readonly string[]>> = {
  publishableKey: ['publishable', 'publishableOther'],
  clientCredentials: ['application'],
  oauth: [
    ...[
      'owner',
      'developer',
      'founder',
      'founderOtherRealm',
      'otherFounder',
      'investor',
      'stranger',
      'unscoped',
    ],
    ...['readOnly', 'otherRealm', 'elsewhere', 'applicant', 'member', 'operator', 'fullAccess', 'creator'],
  ],
  installation: [
    ...['install', 'installIdentity', 'installOther', 'installSyndicate', 'syndicateKey', 'company'],
    ...[
      'otherCompany',
      'syndicate',
      'otherSyndicate',
      'otherApplication',
      'companyInstall',
      'installation',
      'key',
    ],
  ],
};

test.each(guarded)(
  'OAUTH-22 OAUTH-25 $id lists in the document exactly the credentials it accepts',
  (operation) => {
    const cells = tables
      .flatMap(({ rows }) => rows)
      .filter((row) => row.operation === operation.id)
      .flatMap((row) => row.cells);
    const accepted = Object.entries(schemes).filter(([, callers]) =>
      // A 404 may hide a refusal; a 409 or 422 comes after every check of the credential.
      cells.some(([caller, cell]) => callers.includes(caller) && /^(2|409|422)/.test(String(cell))),
    );
    const listed = new Set(securityOf(operation).flatMap(Object.keys));
    expect([...listed].sort()).toEqual(accepted.map(([scheme]) => scheme).sort());
  },
);

test('OAUTH-22 the document offers each scope only in the flow that can grant it', () => {
  const { oauth, clientCredentials } = apiDescription().components?.securitySchemes ?? {};
  const people = Object.keys((oauth as oas31.SecuritySchemeObject).flows?.authorizationCode?.scopes ?? {});
  const applications = (clientCredentials as oas31.SecuritySchemeObject).flows?.clientCredentials?.scopes;
  const own = ['read:public', 'read:referral_codes', 'write:referral_codes'];
  expect(Object.keys(applications ?? {})).toEqual(own);
  expect(people.filter((scope) => own.includes(scope))).toEqual(['read:public']);
  expect(people).toContain('read:investments');
});

describe('the scopes of the matrix', () => {
  let world: RunningPlatform;
  let cast: Cast;
  beforeAll(async () => {
    world = await startPlatform({ limits: false });
    cast = makeCast(world, 'test');
  });
  afterAll(() => world.close());

  /** Every scope except those that grant access, directly or by implication. */
  const allBut = (wanted: readonly string[]): string[] =>
    allScopes.filter((scope) => !brings(scope).some((one) => wanted.includes(one)));
  const brings = (scope: string): readonly string[] => [
    scope,
    ...(impliedScopes[scope] ?? []).flatMap(brings),
  ];
  const kinds: readonly CastName[] = [
    'owner',
    'founder',
    'investor',
    'install',
    'installSyndicate',
    'syndicateKey',
  ];
  // REF-03: a caller that is not an application gets this error before any scope is checked.
  const refusal = ({ tag }: Operation): string =>
    tag === createReferralCode.tag ? 'app_credentials_required' : 'insufficient_scope';
  const scoped = guarded.filter(
    ({ scopes, removedIn }) =>
      removedIn === undefined && scopes?.length !== 0 && scopes?.includes(universalScope) !== true,
  );

  test.each(scoped)(
    'SEC-14 ERR-11 $id refuses every kind of token that holds all scopes but its own',
    async (operation) => {
      for (const kind of kinds) {
        const token = cast.token(kind, { ...operation, scopes: [] });
        const lacking = allBut(operation.scopes ?? []).join(' ');
        world.services.state
          .prepare('UPDATE access_tokens SET scopes = ? WHERE no = (SELECT max(no) FROM access_tokens)')
          .run(lacking);
        const path = operation.path.replaceAll(/\{[^}]+\}/g, 'anything');
        const { status, body } = await world.send(operation.method, path, { token: token ?? '' });
        expect([kind, status, body.error.type]).toEqual([kind, 403, refusal(operation)]);
      }
    },
  );

  test.each(open)('$id requires no credential and ignores an invalid one', async ({ method, path }) => {
    const [bare, garbage] = [
      await world.send(method, path),
      await world.send(method, path, { token: 'garbage' }),
    ];
    expect(bare.body.error?.type).not.toBe('unauthorized');
    expect([garbage.status, bare.status]).toEqual([bare.status, garbage.status]);
  });
});
