import { describe, expect, test } from 'vitest';
import { actionsOf, bearer, form, pausedIn, people, proxyOf, signedIn, worldFor } from './people.js';
import { ask, person, Visitor } from './running-console.js';

describe('behind a proxy that names users', () => {
  const as = (name: string) => ({ 'x-forwarded-user': name });

  test('a user has the role of the configuration, and others the default role', async () => {
    const { port } = await worldFor({ auth: proxyOf({}) });
    expect((await ask(port, '/actions', { headers: as('oleg@example.com') })).status).toBe(200);
    const other = await ask(port, '/actions', { headers: as('vera@example.com') });
    expect([other.status, other.body.includes('proxy:vera@example.com')]).toEqual([403, true]);
  });

  test('a user without a role is refused where the configuration has no default', async () => {
    const { port } = await worldFor({ auth: proxyOf({ role: null }) });
    expect((await ask(port, '/roster', { headers: as('vera@example.com') })).status).toBe(403);
    expect((await ask(port, '/roster', { headers: as('oleg@example.com') })).status).toBe(200);
  });

  test.each([
    [['192.0.2.1'], 'oleg@example.com'],
    [['10.0.0.0/8', '2001:db8::/32'], 'oleg@example.com'],
    [['::ffff:192.0.2.1'], 'oleg@example.com'],
  ])(
    'the header is refused from an address other than %j, also with a valid token',
    async (addresses, name) => {
      const world = await worldFor({ auth: proxyOf({ addresses }) });
      for (const headers of [
        as(name),
        { ...as(name), ...bearer('operator') },
        { ...as(''), ...bearer('operator') },
      ])
        expect((await ask(world.port, '/actions', { headers })).status).toBe(403);
      const signed = await signedIn(world, 'operator');
      const spoofed = await ask(world.port, '/actions', { headers: { ...as(name), cookie: signed.cookie } });
      expect(spoofed.status).toBe(403);
      expect((await ask(world.port, '/actions', { headers: bearer('operator') })).status).toBe(200);
    },
  );

  test('an X-Forwarded-For that names the proxy does not make a client the proxy', async () => {
    const { port } = await worldFor({ auth: proxyOf({ addresses: ['192.0.2.1'] }) });
    const headers = { ...as('oleg@example.com'), 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' };
    expect((await ask(port, '/actions', { headers })).status).toBe(403);
  });

  test.each(['oleg@example.com, vera@example.com', '', ' ', 'a\u00e9b', 'x'.repeat(300)])(
    'a header that does not name one user is refused: %j',
    async (name) => {
      const { port } = await worldFor({ auth: proxyOf({}) });
      expect((await ask(port, '/roster', { headers: as(name) })).status).toBe(403);
    },
  );

  test('the user of the proxy counts before a cookie or token of someone else', async () => {
    const world = await worldFor({ auth: proxyOf({}) });
    const operator = await signedIn(world, 'operator');
    const headers = { ...as('vera@example.com'), cookie: operator.cookie, ...bearer('operator') };
    expect((await ask(world.port, '/actions', { headers })).status).toBe(403);
  });

  test('a session belongs to one user: another user of the same browser begins anew', async () => {
    const auth = proxyOf({ role: 'analyst' });
    const world = await worldFor({ auth });
    const first = await ask(world.port, '/roster', { headers: as('ana@example.com') });
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? '';
    const csrf = /name="csrf" value="(\w+)"/.exec(first.body)?.[1] ?? '';
    const show = (name: string) =>
      ask(world.port, '/identity', {
        method: 'POST',
        headers: {
          ...as(name),
          ...form,
          cookie,
          origin: `http://127.0.0.1:${world.port}`,
          host: `127.0.0.1:${world.port}`,
        },
        body: `do=show&to=/&csrf=${csrf}`,
      });
    expect((await show('ana@example.com')).status).toBe(303);
    const other = await ask(world.port, '/records/acme/inv_ada', {
      headers: { ...as('ben@example.com'), cookie },
    });
    expect([other.status, other.body.includes(person)]).toEqual([200, false]);
    expect((await show('ben@example.com')).status).toBe(403);
  });

  test('the form of a proxied user needs the CSRF token of its session', async () => {
    const world = await worldFor({ auth: proxyOf({}) });
    const answer = await ask(world.port, '/actions/pause', {
      method: 'POST',
      headers: { ...as('oleg@example.com'), ...form },
      body: 'source=acme',
    });
    expect([answer.status, pausedIn(world)]).toEqual([403, []]);
  });

  test('a request without the name of a user needs a token, and where there is none the proxy is named', async () => {
    const { port } = await worldFor({ auth: { ...proxyOf({}), tokens: [] } });
    const answer = await ask(port, '/roster');
    expect([answer.status, answer.body]).toEqual([
      401,
      'sign in through the proxy: see console.auth.proxy\n',
    ]);
    const { port: other } = await worldFor({ auth: proxyOf({}) });
    expect((await ask(other, '/roster', { headers: bearer('viewer') })).status).toBe(200);
  });
});

test('without a sign-in everybody of this machine is an analyst', async () => {
  const world = await worldFor({});
  const visitor = new Visitor(world.port);
  await visitor.get('/roster');
  expect((await visitor.post('/identity', { do: 'show', to: '/records/acme/inv_ada' })).body).toContain(
    person,
  );
  expect((await visitor.get('/actions')).status).toBe(403);
  expect(actionsOf(world)[0]).toBe('local show_names done');
});

test('the audit log is shown in pages of a hundred lines', async () => {
  const world = await worldFor({ auth: people });
  const insert = world.database.raw.prepare(
    "INSERT INTO audit_log (at, actor, role, action, outcome) VALUES ('2026-10-01T00:00:00.000Z', ?, 'viewer', 'query', 'done')",
  );
  for (let turn = 0; turn < 150; turn += 1) insert.run(`token:n${turn}`);
  const visitor = await signedIn(world, 'operator');
  const first = await visitor.get('/audit');
  expect([first.body.includes('token:n149'), first.body.includes('token:n40')]).toEqual([true, false]);
  const older = /href="(\/audit\?before=\d+)"/.exec(first.body)?.[1] ?? '';
  const second = await visitor.get(older);
  expect([second.body.includes('token:n40'), second.body.includes('Older')]).toEqual([true, false]);
});
