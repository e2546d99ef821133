import { newId, newSecret, type Realm } from '../../../src/platform/state/secrets.js';
import { run } from '../../../src/platform/state/statements.js';
import type { RunningPlatform } from '../running-platform.js';
import { type Cast, type CastName, callers, type Expected, makeCast, outside } from './cast.js';
import { type Cell, defineTable, type MatrixRow } from './table.js';

interface Stage extends Cast {
  readonly appWide: string;
  /** An endpoint bound to the installation on the company. */
  readonly bound: string;
}

function stage(world: RunningPlatform, realm: Realm): Stage {
  const cast = makeCast(world, realm);
  const { state, random } = world.services;
  const endpoint = (installationId: string | null): string => {
    const id = newId(random, 'whe_');
    const { no } = run(
      state,
      `INSERT INTO webhook_endpoints (id, application_no, installation_no, mode, url, created_at)
       VALUES (?, ?, (SELECT no FROM installations WHERE id = ?), ?, 'http://127.0.0.1:9/hook', 0)`,
      [id, cast.client.applicationNo, installationId, realm],
    );
    run(state, 'INSERT INTO webhook_secrets (endpoint_no, secret) VALUES (?, ?)', [
      no,
      newSecret(random, 'whsec_'),
    ]);
    run(
      state,
      `INSERT INTO webhook_subscriptions (event, endpoint_no, position) VALUES ('investment.changed', ?, 0)`,
      [no],
    );
    return id;
  };
  return { ...cast, appWide: endpoint(null), bound: endpoint(cast.here.installationId) };
}

type Row = MatrixRow<CastName, Stage>;
const missing = '404 not_found';
const noRole = '403 forbidden_role';
const sandbox = '403 manage_endpoints_on_live_api';

const everyone = (person: Cell, token: Cell): Expected => ({
  ...outside,
  owner: person,
  developer: person,
  founder: person,
  founderOtherRealm: person,
  otherFounder: person,
  investor: person,
  install: token,
  installIdentity: token,
  installOther: token,
  installSyndicate: token,
  syndicateKey: token,
});

/**
 * Installs on the company, and people there at or above the tier of the installation. The organization is not
 * included.
 */
const insiders = (ok: Cell) => ({ founder: ok, install: ok, installIdentity: ok });
const boundTo = (ok: Cell): Expected => ({ ...everyone(missing, missing), ...insiders(ok) });

const one = (
  stage: Stage,
  which: 'appWide' | 'bound',
  more = '',
  body?: unknown,
): ReturnType<Row['request']> => ({
  path: `/webhook_endpoints/${stage[which]}${more}`,
  body,
});

const subscription = { url: 'http://127.0.0.1:9/new', events: ['investment.changed'] };

const actions: readonly (readonly [operation: string, more: string, body?: unknown])[] = [
  ['getWebhookEndpoint', ''],
  ['updateWebhookEndpoint', '', { events: ['investment.created'] }],
  ['deleteWebhookEndpoint', ''],
  ['rotateWebhookSecret', '/rotate_secret'],
  ['reenableWebhookEndpoint', '/reenable'],
  ['testWebhookEndpoint', '/test'],
];
const inSandbox = ['getWebhookEndpoint', 'reenableWebhookEndpoint', 'testWebhookEndpoint'];

const create = (mode: Realm, about: string, expected: Expected, bound = false): Row => ({
  operation: 'createWebhookEndpoint',
  about,
  expected,
  request: ({ here }) => ({
    path: '/webhook_endpoints',
    body: { ...subscription, mode, ...(bound ? { installation: here.installationId } : {}) },
  }),
});

/** The live API, where endpoints are managed. The sandbox API refers callers to it. */
const liveAppWide = (ok: Cell): Expected => ({
  ...everyone(noRole, missing),
  owner: ok,
  developer: ok,
});
const live: readonly Row[] = [
  {
    operation: 'listWebhookEndpoints',
    expected: { ...everyone(200, 200), investor: noRole },
    request: () => ({ path: '/webhook_endpoints' }),
  },
  create('live', 'for the application', {
    // An installation token always binds to its own installation.
    ...everyone(noRole, 201),
    syndicateKey: noRole,
    owner: 201,
    developer: 201,
    founderOtherRealm: sandbox,
  }),
  create(
    'live',
    'bound to the installation',
    { ...everyone(noRole, missing), ...insiders(201), founderOtherRealm: sandbox },
    true,
  ),
  ...actions.flatMap(([operation, more, body]): readonly Row[] => {
    const managed = inSandbox.includes(operation) ? {} : { founderOtherRealm: sandbox };
    const unseen = inSandbox.includes(operation) ? { founderOtherRealm: missing } : managed;
    return [
      {
        operation,
        about: 'for the application',
        expected: { ...liveAppWide(200), ...unseen } as Expected,
        request: (stage) => one(stage, 'appWide', more, body),
      },
      {
        operation,
        about: 'bound',
        expected: { ...boundTo(200), ...unseen } as Expected,
        request: (stage) => one(stage, 'bound', more, body),
      },
    ];
  }),
];

/** The sandbox lets any person read and test its endpoints, because that harms no one; it manages none. */
const test: readonly Row[] = [
  {
    operation: 'listWebhookEndpoints',
    expected: { ...everyone(200, 200), founderOtherRealm: noRole },
    request: () => ({ path: '/webhook_endpoints' }),
  },
  create('test', 'for the application', { ...everyone(sandbox, sandbox), founderOtherRealm: noRole }),
  ...actions.flatMap(([operation, more, body]): readonly Row[] => {
    if (!inSandbox.includes(operation)) {
      const expected = { ...everyone(sandbox, sandbox), founderOtherRealm: noRole } as Expected;
      return [{ operation, expected, request: (stage) => one(stage, 'appWide', more, body) }];
    }
    return [
      {
        operation,
        about: 'for the application',
        expected: { ...everyone(200, missing), founderOtherRealm: noRole } as Expected,
        request: (stage) => one(stage, 'appWide', more, body),
      },
      {
        operation,
        about: 'bound',
        expected: boundTo(200),
        request: (stage) => one(stage, 'bound', more, body),
      },
    ];
  }),
];

const table = (realm: Realm, rows: readonly Row[]) =>
  defineTable<CastName, Stage>({
    name: `webhook endpoints, ${realm}`,
    callers,
    stage: (world) => stage(world, realm),
    credential: (cast, caller, operation) => cast.token(caller, operation),
    rows,
  });

export const webhookTables = [table('live', live), table('test', test)];
