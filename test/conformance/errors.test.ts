import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDescription, declaredOperations } from '../tools/api-description.js';
import { type Cast, makeCast } from './matrix/cast.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';
import { resolve } from './schema-check.js';

const document = apiDescription();
const operations = declaredOperations();
let world: RunningPlatform;
let cast: Cast;
beforeAll(async () => {
  world = await startPlatform({ limits: false });
  cast = makeCast(world, 'test');
});
afterAll(() => world.close());

/** Repeated here on purpose: nothing of this table comes from `src/`. */
const exactly: Readonly<Record<string, readonly string[]>> = {
  BadRequest: ['bad_request', 'invalid_params', 'invalid_parameter', 'invalid_request'],
  Unauthorized: ['unauthorized'],
  Forbidden: [
    'insufficient_scope',
    'forbidden',
    'forbidden_role',
    'feature_disabled',
    'manage_endpoints_on_live_api',
    'bound_endpoint',
    'bound_endpoints_not_enabled',
    'app_credentials_required',
  ],
  NotFound: ['not_found', 'no_disclosures'],
  Conflict: ['conflict', 'idempotency_conflict', 'already_installed', 'session_conflict'],
  Gone: ['gone'],
  Unprocessable: [
    'validation_error',
    'use_intents',
    'idempotency_conflict',
    'unprocessable_entity',
    'offering_mismatch',
    'session_not_cancelable',
    'no_grantable_scopes',
    'attribution_terms_required',
  ],
  RateLimited: ['rate_limit_exceeded'],
  ServerFault: ['internal_server_error'],
};

// Every conformance test checks its responses against these enumerations, so the declared types are complete.
const typesOf = (name: string): string[] => {
  const response = resolve(document, `#/components/responses/${name}`);
  const envelope = resolve(document, response.content['application/json'].schema.$ref);
  const { type } = envelope.properties.error.properties;
  return type.enum ?? [type.const];
};

test.each([
  ['ERR-08', 'BadRequest'],
  ['ERR-10', 'Forbidden'],
  ['ERR-13', 'NotFound'],
  ['ERR-14', 'Conflict'],
  ['ERR-15', 'Gone'],
  ['ERR-15', 'RateLimited'],
  ['ERR-15', 'ServerFault'],
  ['ERR-16', 'Unprocessable'],
])('%s the response %s has exactly the documented error types', (_, name) => {
  expect(exactly).toHaveProperty(name);
  expect(typesOf(name)).toEqual(exactly[name]);
});

test('every error response has exactly the documented types, and those of the portal two more', () => {
  const shared = Object.keys(document.components?.responses ?? {}).filter(
    (name) => !name.startsWith('Portal'),
  );
  expect(Object.fromEntries(shared.map((name) => [name, typesOf(name)]))).toEqual(exactly);
  expect(typesOf('PortalConflict')).toEqual([...(exactly.Conflict ?? []), 'scope_change_blocked']);
  expect(typesOf('PortalUnprocessable')).toEqual([...(exactly.Unprocessable ?? []), 'invalid_scopes']);
});

test('ERR-05 a validation error says of each field whether it is missing or wrong', async () => {
  const token = world.ready.users[0]?.token ?? '';
  const codes = async (body: object) => {
    const { error } = (await world.post('/installations', { token, body })).body;
    return error.details.errors
      .map(({ field, code }: { field: string; code: string }) => [field, code])
      .sort();
  };
  expect(await codes({})).toEqual([
    ['target_id', 'required'],
    ['target_type', 'required'],
  ]);
  expect(await codes({ target_type: 'planet', target_id: 5 })).toEqual([
    ['target_id', 'invalid'],
    ['target_type', 'invalid'],
  ]);
});

test('ERR-05 a validation error says in words what each field must be', async () => {
  const messageOf = async (path: string, body: unknown): Promise<string> => {
    const { error } = (await world.post(path, { token: company(world).token, body })).body;
    return error.message;
  };
  const sessions = `/offerings/${company(world).offering}/investment_sessions`;
  const session = (fields: object) => messageOf(sessions, { investment_session: fields });
  expect(await messageOf(sessions, {})).toBe('investment_session: is missing.');
  expect(await messageOf(sessions, [])).toBe('body: must be an object.');
  expect(await session({ email: 5 })).toBe('investment_session.email: must be a string.');
  expect(await session({ email: 'x' })).toBe('investment_session.email: must be an email address.');
  expect(await session({ email: 'a@b.example', expires_in_hours: 0 })).toBe(
    'investment_session.expires_in_hours: must be at least 1.',
  );
  expect(await session({ email: 'a@b.example', success_url: 'https://a'.padEnd(2049, 'a') })).toBe(
    'investment_session.success_url: must have at most 2,048 characters.',
  );
  const token = world.ready.users[0]?.token ?? '';
  const body = { target_type: 'planet', target_id: 'x', scopes: 'read:public' };
  expect((await world.post('/installations', { token, body })).body.error.message).toBe(
    'target_type: must be one of "company", "syndicate". scopes: must be a list.',
  );
});

const ask = (path: string) => world.get(path, { token: company(world).token });

test.each([
  ['/investments?status=odd', 'status'],
  ['/investments?cursor=forged', 'cursor'],
  ['/investments?cursor=', 'cursor'],
  ['/investments?per_page=ten', 'per_page'],
  ['/investments?updated_since=yesterday', 'updated_since'],
  ['/investments?company_id=', 'company_id'],
  ['/investments?company_id=a&company_id=b', 'company_id'],
])(
  'ERR-06 ERR-22 %s returns invalid_parameter with only the parameter name in details',
  async (path, parameter) => {
    const { status, body } = await ask(path);
    expect([status, body.error.type, body.error.details]).toEqual([400, 'invalid_parameter', { parameter }]);
  },
);

test('ERR-06 the message of a bad parameter says what is wrong with it', async () => {
  const messageOf = async (query: string) => (await ask(`/investments?${query}`)).body.error.message;
  expect(await messageOf('company_id=a&company_id=b')).toBe(
    'The parameter company_id is not valid: it is given more than once.',
  );
  expect(await messageOf('status=odd')).toMatch(
    /^The parameter status is not valid: must be one of "reserved", /,
  );
});

test('ERR-22 an unreadable body returns bad_request, an unknown version invalid_request', async () => {
  const token = cast.token('founder', operationCalled('createInstallation')) ?? '';
  const json = { 'content-type': 'application/json' };
  for (const body of ['{', 'nothing', '{"a":1,}', '\u0000']) {
    const broken = await world.post('/installations', { token, body, headers: json });
    expect([broken.status, broken.body.error.type]).toEqual([400, 'bad_request']);
  }
  const version = await world.get('/installations', { token, headers: { 'service-version': '2026-10-02' } });
  expect([version.status, version.body.error.type]).toEqual([400, 'invalid_request']);
});

test('ERR-05 ERR-22 a readable but invalid body returns 422 with every invalid field', async () => {
  const token = cast.token('founder', operationCalled('createInstallation')) ?? '';
  for (const body of [[], 'text', 1, null, { target_type: 'boat', scopes: 'all' }]) {
    const { status, body: answer } = await world.post('/installations', {
      token,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    expect([status, answer.error.type]).toEqual([422, 'validation_error']);
    for (const error of answer.error.details.errors) {
      expect(Object.keys(error).sort()).toEqual(['code', 'field', 'message']);
    }
  }
});

test('ERR-13 ERR-22 a record the token may not see returns the same error as a missing one, except for the requested id', async () => {
  const stranger = cast.token('investor', operationCalled('getInstallation')) ?? '';
  const hidden = await world.get(`/installations/${cast.here.installationId}`, { token: stranger });
  const unknown = await world.get('/installations/inst_unknown', { token: stranger });
  const bare = ({ status, body }: typeof hidden, id: string) => {
    const { request_id: _, message, ...rest } = body.error;
    return [status, { ...rest, message: message.replace(id, 'ID') }];
  };
  expect(bare(hidden, cast.here.installationId)).toEqual(bare(unknown, 'inst_unknown'));
});

test('CONV-05 a single resource is data with id, type and attributes', async () => {
  const paths = [
    ['founder', 'getInstallation', `/installations/${cast.here.installationId}`, 'installation'],
    ['owner', 'getApplication', `/developer/applications/${cast.secondApplication}`, 'application'],
  ] as const;
  for (const [caller, id, path, type] of paths) {
    const { body } = await world.get(path, { token: cast.token(caller, operationCalled(id)) ?? '' });
    expect(Object.keys(body).filter((key) => key !== 'meta')).toEqual(['data']);
    expect(body.data).toMatchObject({ id: path.split('/').at(-1), type, attributes: expect.any(Object) });
  }
});

test('CONV-09 investment records prefix investment ids with inv_', async () => {
  const { data } = (await ask('/investments?per_page=100')).body;
  expect(data.length).toBeGreaterThan(0);
  for (const record of data) {
    for (const id of [record.id, record.converted_to, record.converted_from])
      expect(id ?? 'inv_').toMatch(/^inv_/);
  }
});

test('PAGE-04 an unpaged list has a null next_cursor', async () => {
  for (const [caller, id, path] of [
    ['founder', 'listInstallations', '/installations'],
    ['founder', 'listEligibleInstallations', '/installations/eligible'],
    ['owner', 'listApplications', '/developer/applications'],
  ] as const) {
    const { meta } = (await world.get(path, { token: cast.token(caller, operationCalled(id)) ?? '' })).body;
    expect([path, meta.has_more, meta.next_cursor]).toEqual([path, false, null]);
  }
});

test('SCOPE-13 write:webhooks includes read:webhooks, and read:webhooks does not allow writing', async () => {
  const token = (id: string) => cast.token('founder', operationCalled(id)) ?? '';
  expect((await world.get('/webhook_endpoints', { token: token('createWebhookEndpoint') })).status).toBe(200);
  const written = await world.post('/webhook_endpoints', { token: token('listWebhookEndpoints'), body: {} });
  expect([written.status, written.body.error.details.required]).toEqual([403, ['write:webhooks']]);
});

test('SCOPE-12 read:companies grants the roster of a company that the person helps run', async () => {
  const { id } = cast.here;
  const operation = { ...operationCalled('listCompanyInvestmentChanges'), scopes: ['read:companies'] };
  const roster = await world.get(`/companies/${id}/investments/changes`, {
    token: cast.token('founder', operation) ?? '',
  });
  expect([roster.status, roster.body.data.length > 0]).toEqual([200, true]);
  const stranger = cast.token('investor', operation) ?? '';
  expect((await world.get(`/companies/${id}/investments/changes`, { token: stranger })).status).toBe(404);
});

function operationCalled(id: string) {
  const found = operations.find((operation) => operation.id === id);
  if (found === undefined) throw new Error(`no operation is called ${id}`);
  return found;
}
