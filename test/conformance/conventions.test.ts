import { afterEach, beforeEach, expect, test } from 'vitest';
import { errorTypes } from '../../src/platform/contract/errors.js';
import { run } from '../../src/platform/state/statements.js';
import { company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

const token = () => company(world).token;
const requestIdHeader = 'x-service-request-id';

test('CONV-02 CONV-03 the platform serves every path at the root and below /api/v2 alike', async () => {
  const [root, prefixed] = await Promise.all([
    world.get('/investments', { token: token() }),
    world.get('/api/v2/investments', { token: token() }),
  ]);
  expect(root.status).toBe(200);
  expect(prefixed.body).toEqual(root.body);
  expect((await world.get('/api/v3/investments', { token: token() })).status).toBe(404);
});

test('CONV-04 ERR-09 the platform answers a missing or invalid credential with 401 unauthorized', async () => {
  for (const path of [
    '/investments',
    '/investments/inv_x',
    '/offerings/ofr_x/stats',
    '/companies/co_x/investments/changes',
  ]) {
    for (const sending of [{}, { token: 'at_test_invented' }, { headers: { authorization: 'Basic abc' } }]) {
      const { status, body } = await world.get(path, sending);
      expect([path, status, body.error.type]).toEqual([path, 401, 'unauthorized']);
    }
  }
});

const refusals = async () => {
  const answers = [
    await world.get('/nowhere'),
    await world.get('/investments'),
    await world.get('/investments?status=odd', { token: token() }),
    await world.get('/investments', { token: world.ready.apps[0]?.clientId ?? '' }),
    await world.get('/investments/inv_unknown', { token: token() }),
    await world.get('/investments', { token: token(), headers: { 'Service-Version': '1999-01-01' } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 401, 400, 403, 404, 400]);
  return answers;
};

test('CONV-11 ERR-02 every error repeats the request id of its header, which successes carry too', async () => {
  for (const { headers, body } of await refusals()) {
    expect(body.error.request_id).toMatch(/^req_[A-Za-z0-9]{22}$/);
    expect(headers.get(requestIdHeader)).toBe(body.error.request_id);
  }
  const ok = await world.get('/investments', { token: token() });
  expect(ok.headers.get(requestIdHeader)).toMatch(/^req_/);
});

test('CONV-01 ERR-01 every error is JSON of one form', async () => {
  for (const { status, headers, body } of await refusals()) {
    expect(headers.get('content-type')).toContain('application/json');
    expect(Object.keys(body)).toEqual(['error']);
    expect(errorTypes[status as keyof typeof errorTypes]).toContain(body.error.type);
    expect(body.error.message).toEqual(expect.any(String));
    const known = ['type', 'message', 'details', 'request_id', 'remediation'];
    expect(Object.keys(body.error).filter((key) => !known.includes(key))).toEqual([]);
  }
});

test('every error names the section of the API reference about its operation', async () => {
  const page = await (await fetch(`${world.ready.baseUrl}/docs`)).text();
  const named = (await refusals()).map(({ body }) => {
    const [, base, anchor] = /Reference: (http\S+\/docs)(?:#(\w+))?$/.exec(body.error.remediation) ?? [];
    expect(base).toBe(`${world.ready.baseUrl}/docs`);
    return anchor;
  });
  const anchors = named.filter((anchor) => anchor !== undefined);
  expect(anchors).toContain('listInvestments');
  for (const anchor of anchors) expect(page).toContain(`id="${anchor}"`);
  const token = await fetch(`${world.ready.baseUrl}/oauth/token`, { method: 'POST' });
  expect(await token.json()).toMatchObject({ error_uri: `${world.ready.baseUrl}/docs#issueToken` });
});

test('ERR-15 a crash returns 500 internal_server_error without the text of the exception', async () => {
  run(world.services.state, 'DELETE FROM feed');
  const { status, body } = await world.get('/investments', { token: token() });
  expect([status, body.error.type]).toEqual([500, 'internal_server_error']);
  expect(JSON.stringify(body)).not.toContain('feed');
});

test('CONV-06 a list has data and meta with has_more, page_count and next_cursor', async () => {
  const { body } = await world.get('/investments?per_page=2', { token: token() });
  expect(Object.keys(body)).toEqual(['data', 'meta']);
  expect(body.meta).toMatchObject({ has_more: true, page_count: 2, next_cursor: expect.any(String) });
});

test('CONV-07 CONV-12 CONV-14 ids and credentials have their documented prefixes', () => {
  const [app] = world.ready.apps;
  expect(app?.clientId).toMatch(/^pk_test_/);
  expect(app?.clientSecret).toMatch(/^sk_test_/);
  expect(app?.live.clientId).toMatch(/^pk_live_/);
  expect(app?.live.clientSecret).toMatch(/^sk_live_/);
  for (const { id, offering, installation, token } of world.ready.companies) {
    expect([id, offering, installation, token].map((text) => text.replace(/[A-Za-z0-9]+$/, ''))).toEqual([
      'co_',
      'ofr_',
      'inst_',
      'at_test_',
    ]);
  }
  for (const person of world.ready.users) {
    expect(person.id).toMatch(/^usr_/);
    expect([person.token, person.refreshToken, person.liveToken].map((text) => text.slice(0, 8))).toEqual([
      'at_test_',
      'rt_test_',
      'at_live_',
    ]);
  }
  expect(world.ready.syndicates[0]?.id).toMatch(/^syn_/);
});

test('CONV-14 a live token sees nothing of the sandbox realm', async () => {
  const founder = user(world, 2);
  const live = await world.get('/investments', { token: founder.liveToken });
  const companies = live.body.data.map((record: { company: string }) => record.company);
  expect(live.status).toBe(200);
  expect(new Set(companies)).toEqual(new Set([world.ready.live.companies[0]?.id]));
  const named = await world.get(`/investments?company_id=${company(world).id}`, { token: founder.liveToken });
  expect(named.status).toBe(404);
});

test('CONV-15 no record exposes the integer key of a database row', async () => {
  const { body } = await world.get('/investments', { token: token() });
  for (const record of body.data) {
    for (const [key, value] of Object.entries(record)) {
      expect([key, typeof value]).not.toEqual([key, 'number']);
    }
  }
});

test('CONV-17 every time of every kind of record is ISO 8601 in UTC, and created_at of a token is Unix time', async () => {
  const [syndicate] = world.ready.syndicates;
  const home = company(world);
  const founder = user(world, 2).token;
  const asked: readonly (readonly [path: string, token: string])[] = [
    ['/investments?per_page=100', home.token],
    ['/installations', founder],
    ['/campaigns', founder],
    ['/users/me', user(world, 4).token],
    [`/offerings/${home.offering}`, home.token],
    [`/companies/${home.id}`, home.token],
    [`/companies/${home.id}/updates`, home.token],
    [`/companies/${home.id}/questions?past_raises=true`, home.token],
    [`/syndicates/${syndicate?.id}`, syndicate?.token ?? ''],
    [`/syndicates/${syndicate?.id}/members?per_page=100`, syndicate?.token ?? ''],
    [`/syndicates/${syndicate?.id}/deals`, syndicate?.token ?? ''],
  ];
  for (const [path, token] of asked) {
    const times = timesIn((await world.get(path, { token })).body);
    expect([path, times.length > 0]).toEqual([path, true]);
    for (const [key, value] of times)
      expect([path, key, value]).toEqual([
        path,
        key,
        expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
      ]);
  }
  const minted = await world.post(`/installations/${home.installation}/tokens`, { token: founder });
  expect(minted.body.token.created_at).toBe(Math.floor(world.services.clock.now() / 1000));
});

/** Every value below a key that says it is a time. */
function timesIn(value: unknown, key = ''): readonly (readonly [key: string, value: unknown])[] {
  if (Array.isArray(value)) return value.flatMap((one) => timesIn(one, key));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, one]) => timesIn(one, name));
  return value !== null && /(?:_at|_through)$/.test(key) ? [[key, value]] : [];
}

const askIn = (version: string) =>
  world.get('/investments', { token: token(), headers: { 'Service-Version': version } });

test('VERS-01 VERS-09 the version header selects the version, also by an alias', async () => {
  const echoed = async (version: string) => (await askIn(version)).headers.get('service-version');
  expect(await echoed('2026-10-01')).toBe('2026-10-01');
  expect(await echoed('2026-10-15')).toBe('2026-10-15');
  expect(await echoed('2025-01-15')).toBe('2026-10-01');
});

test('VERS-05 an unknown version is refused with the valid ones', async () => {
  const unknown = await askIn('2026-09-09');
  expect([unknown.status, unknown.body.error.type]).toEqual([400, 'invalid_request']);
  for (const version of ['2026-10-01', '2026-10-15']) expect(unknown.body.error.message).toContain(version);
});

test('VERS-06 VERS-07 every response says which version handled it and which is the latest', async () => {
  for (const path of ['/nowhere', '/investments']) {
    const { headers } = await world.get(path);
    expect(headers.get('service-version-latest')).toBe('2026-10-15');
    expect(headers.get('service-version')).toBe('2026-10-15');
  }
});

test('VERS-02 VERS-04 without the header the pin of the application applies, and without an application the latest version', async () => {
  run(world.services.state, `UPDATE applications SET pinned_version = '2026-10-01'`);
  expect((await world.get('/investments', { token: token() })).headers.get('service-version')).toBe(
    '2026-10-01',
  );
  const beaten = await world.get('/investments', {
    token: token(),
    headers: { 'Service-Version': '2026-10-15' },
  });
  expect(beaten.headers.get('service-version')).toBe('2026-10-15');
  expect((await world.get('/investments')).headers.get('service-version')).toBe('2026-10-15');
});

/** Spends the requests of the token, which all succeed, and returns the first refusal. */
async function overLimit() {
  const ask = () => world.get('/investments?per_page=1', { token: token() });
  for (let batch = 0; batch < 20; batch += 1) {
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    for (const { status, headers } of answers) {
      expect(status).toBe(200);
      expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    }
  }
  return { ask, refused: await ask() };
}

test('RATE-11 RATE-12 RATE-13 the refusal at the limit of a token has details and headers, other responses have none', async () => {
  const { status, headers, body } = (await overLimit()).refused;
  expect([status, body.error.type]).toEqual([429, 'rate_limit_exceeded']);
  expect(body.error.details).toEqual({ limit: 1000, period: 'hour', retry_after: 3600 });
  expect(headers.get('x-ratelimit-limit')).toBe('1000');
  expect(headers.get('x-ratelimit-remaining')).toBe('0');
  expect(headers.get('x-ratelimit-reset')).toBe(String(world.clock.now() / 1000 + 3600));
});

test('RATE-01 RATE-14 RATE-15 a token has 1,000 requests in a fixed hour, and no refusal has Retry-After', async () => {
  const { ask, refused } = await overLimit();
  expect(refused.status).toBe(429);
  expect(refused.headers.has('retry-after')).toBe(false);
  expect((await world.get('/investments', { token: company(world).tokenWithoutIdentity })).status).toBe(200);
  world.clock.advance(3_599_000);
  expect((await ask()).status).toBe(429);
  world.clock.advance(1000);
  expect((await ask()).status).toBe(200);
});

test('RATE-02 one address has 5,000 requests an hour over all credentials', async () => {
  const { state, clock } = world.services;
  const start = Math.floor(clock.now() / 1000);
  await world.get('/investments', { token: token() });
  run(state, `UPDATE windows SET spent = 4999, window_start = ? WHERE limit_name = 'ip'`, [
    start - (start % 3600),
  ]);
  expect((await world.get('/investments', { token: token() })).status).toBe(200);
  const refused = await world.get('/investments', { token: company(world, 1).token });
  expect([refused.status, refused.body.error.details.limit]).toEqual([429, 5000]);
});
