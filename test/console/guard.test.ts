import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hostCheck } from '../../src/console/guard/hosts.js';
import { pathOf } from '../../src/console/guard/own-forms.js';
import { Refusals } from '../../src/console/guard/refusals.js';
import { Sessions } from '../../src/console/guard/sessions.js';
import { Fault } from '../../src/domain/fault.js';
import { type LogFields, silentLogger } from '../../src/runtime/logger.js';
import { StandingClock } from '../store/support/mirror.js';
import { testRandom } from '../support/chance.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MovableClock } from './movable-clock.js';
import {
  ask,
  type ConsoleOptions,
  oneToken,
  type RunningConsole,
  startConsole,
  Visitor,
} from './running-console.js';

const token = 'a-token-of-decent-length';
const actor = { name: 'token', role: 'analyst' } as const;
const marks = new Set(['mark']);

async function worldFor(wish: ConsoleOptions): Promise<RunningConsole> {
  const world = await startConsole({ rows: 1, ...wish });
  onTestFinished(() => world.close());
  return world;
}

test.each([
  ['127.0.0.1:8788', true, true],
  ['localhost', true, true],
  ['[::1]:8788', true, true],
  ['roster.example', true, true],
  ['ROSTER.example:443', true, true],
  ['evil.example', false, false],
  ['127.0.0.1.evil.example', false, false],
  ['localhost.evil.example', false, false],
  ['', false, false],
  ['192.0.2.7:8788', false, true],
  ['user@127.0.0.1', false, false],
])(
  'a request for host %s is accepted on loopback: %s, on another address: %s',
  (host, onLoopback, elsewhere) => {
    const names = ['roster.example'];
    expect([hostCheck(false, names)(host), hostCheck(true, names)(host)]).toEqual([onLoopback, elsewhere]);
  },
);

test('a form redirects only to a local path', () => {
  expect(
    ['/roster?a=b', '//evil.example', '/\\evil.example', 'https://evil.example', ''].map(pathOf),
  ).toEqual(['/roster?a=b', ...['/', '/', '/', '/']]);
});

test('idle sessions end, and visitors cannot displace signed-in sessions', () => {
  const clock = new StandingClock();
  const sessions = new Sessions(clock, testRandom());
  const signedIn = sessions.begin(true, 'mark', actor);
  const others = Array.from({ length: 600 }, () => sessions.begin(false, 'mark', actor));
  expect(sessions.get(signedIn.id, marks)).toBe(signedIn);
  expect(others.filter(({ id }) => sessions.get(id, marks) !== undefined)).toHaveLength(499);
  clock.advance(12 * 3_600_000 + 1);
  expect(sessions.get(signedIn.id, marks)).toBeUndefined();
});

test('a session that is used every hour ends a day after it began', () => {
  const clock = new StandingClock();
  const sessions = new Sessions(clock, testRandom());
  const { id } = sessions.begin(true, 'mark', actor);
  const usedFor = Array.from({ length: 30 }, () => {
    clock.advance(3_600_000);
    return sessions.get(id, marks);
  });
  expect(usedFor.filter((session) => session !== undefined)).toHaveLength(24);
});

test('wrong credentials are logged at once and then counted in one line a minute until none arrive', async () => {
  const clock = new VirtualClock();
  const logged: (number | undefined)[] = [];
  const logger = { ...silentLogger, warn: ({ count }: LogFields) => void logged.push(count) };
  const refusals = new Refusals(clock, logger, () => {});
  onTestFinished(() => refusals.close());
  const answers = Array.from({ length: 12 }, () => refusals.count());
  expect(answers).toEqual([...Array<string>(10).fill('refused'), 'slow down', 'slow down']);
  expect(logged).toEqual([1]);
  await clock.advance(60_000);
  expect([logged, refusals.count()]).toEqual([[1, 11], 'refused']);
  await clock.advance(180_000);
  expect(logged).toEqual([1, 11, 1]);
  expect(clock.sleeping).toBe(0);
  refusals.count();
  refusals.count();
  refusals.close();
  await settled();
  expect(logged).toEqual([1, 11, 1, 1, 1]);
});

describe('forms', () => {
  let world: RunningConsole;
  beforeAll(async () => {
    world = await startConsole({ rows: 1 });
  });
  afterAll(() => world.close());

  test.each([
    ['from another origin', { origin: 'http://evil.example' }],
    ['from nowhere, as a sandboxed frame sends it', { origin: 'null' }],
    ['from another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['marked as cross-site by the browser', { 'sec-fetch-site': 'cross-site' }],
    ['marked as same-site by the browser', { 'sec-fetch-site': 'same-site' }],
  ])('forms: %s are rejected', async (_what, headers) => {
    const visitor = new Visitor(world.port);
    await visitor.get('/roster');
    const answer = await visitor.send('/identity', { csrf: visitor.csrf, do: 'show', to: '/' }, headers);
    expect(answer.status).toBe(403);
  });

  test('forms without the CSRF token of the session are rejected, and pages work afterwards', async () => {
    const visitor = new Visitor(world.port);
    await visitor.get('/roster');
    expect((await visitor.send('/identity', { csrf: 'x', do: 'show', to: '/' })).status).toBe(403);
    expect((await visitor.post('/identity', { do: 'show', to: '/roster' })).status).toBe(200);
  });

  test('forms that are too long are rejected', async () => {
    const visitor = new Visitor(world.port);
    await visitor.get('/sql');
    const answer = await visitor.send('/sql', { csrf: visitor.csrf, sql: 'x'.repeat(270_000) });
    expect([answer.status, answer.body]).toEqual([413, expect.stringContaining('the form is too large')]);
    const chinese = await visitor.send('/sql', {
      csrf: visitor.csrf,
      sql: `SELECT '${'投'.repeat(19_000)}'`,
    });
    expect(chinese.status).toBe(200);
  });

  test('an address that cannot be decoded is reported as such, and not as a failure in the log', async () => {
    const page = await ask(world.port, '/records/acme/%ff');
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('is not valid (400)')]);
    expect(page.body).not.toContain('See the log');
    const program = await ask(world.port, '/records/acme/%ff', { headers: { accept: 'application/json' } });
    expect(JSON.parse(program.body)).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('is not valid'),
    });
  });
});

describe('behind a token', () => {
  const auth = oneToken(async () => token);

  test('without a sign-in only the probes are visible', async () => {
    const { port } = await worldFor({ auth });
    for (const path of ['/', '/roster', '/companies', '/sql', '/records/acme/inv_ada']) {
      const answer = await ask(port, path);
      expect([answer.status, answer.headers.location]).toEqual([
        303,
        `/sign-in?to=${encodeURIComponent(path)}`,
      ]);
    }
    for (const path of ['/status.json', '/metrics', '/events']) {
      const answer = await ask(port, path, { headers: { accept: '*/*' } });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="rosterd"']);
    }
    expect((await ask(port, '/livez')).body).toBe('ok\n');
    expect((await ask(port, '/readyz')).body).toBe('{"ready":false}');
    expect((await ask(port, '/healthz')).body).toBe('{"health":"attention"}');
    expect((await ask(port, '/sign-in')).body).not.toContain('api.example.com');
  });

  test('a user can sign in with the token, see pages and sign out', async () => {
    const { port, logged } = await worldFor({ auth });
    const visitor = new Visitor(port);
    const wrong = await visitor.send('/sign-in', { token: 'wrong', to: '/roster' });
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined]);
    const right = await visitor.send('/sign-in', { token, to: '/roster' });
    expect([right.status, right.headers.location]).toEqual([303, '/roster']);
    expect(right.headers['set-cookie']).toEqual([
      expect.stringMatching(/^rosterd_\d+=\w{32}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await visitor.get('/roster')).body).toContain('Sign out');
    await visitor.send('/sign-out', { csrf: visitor.csrf });
    expect((await visitor.get('/roster')).status).toBe(303);
    expect(JSON.stringify(logged)).not.toContain(token);
  });

  test('behind a TLS proxy the session cookie is Secure', async () => {
    const { port } = await worldFor({ auth, hosts: ['roster.example'] });
    const answer = await new Visitor(port).send(
      '/sign-in',
      { token, to: '/' },
      { host: 'roster.example', origin: 'https://roster.example' },
    );
    expect([answer.headers['set-cookie']].flat()[0]).toContain('; Secure');
  });

  test('a program can send the token with each request, including forms', async () => {
    const { port } = await worldFor({ auth });
    const headers = { authorization: `Bearer ${token}` };
    expect((await ask(port, '/metrics', { headers })).body).toContain('rosterd_build_info');
    const file = await ask(port, '/roster/file', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'format=jsonl&to=%2Froster%3Fid%3Dinv_ada',
    });
    expect(JSON.parse(file.body)).toMatchObject({ id: 'inv_ada', raised_cents: 777_700 });
  });

  test('wrong tokens get 429 after ten in a minute, and the right one is always accepted', async () => {
    const { port, logged } = await worldFor({ auth });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    const scrape = (bearer: string) =>
      ask(port, '/metrics', { headers: { accept: '*/*', authorization: `Bearer ${bearer}` } });
    const statuses = [];
    for (let turn = 0; turn < 12; turn += 1) statuses.push((await scrape('guess')).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect((await visitor.get('/roster')).status).toBe(200);
    const counted = (await scrape(token)).body;
    expect(counted).toContain('rosterd_console_refused_credentials_total 12');
    const wrong = await new Visitor(port).send('/sign-in', { token: 'guess', to: '/' });
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([429, undefined]);
    expect((await new Visitor(port).send('/sign-in', { token, to: '/' })).status).toBe(303);
    expect(logged.filter(({ message }) => message.includes('wrong credentials'))).toHaveLength(1);
  });

  test('a rotated token is accepted at once, and sessions opened with the old one end', async () => {
    const secret = { is: token };
    const clock = new MovableClock();
    const { port, tick } = await worldFor({ clock, auth: oneToken(async () => secret.is) });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    const stream = await fetch(`http://127.0.0.1:${port}/events`, { headers: { cookie: visitor.cookie } });
    expect([(await visitor.get('/roster')).status, stream.status]).toEqual([200, 200]);

    secret.is = 'another-token-of-decent-length';
    clock.move(6_000);
    const headers = { accept: '*/*', authorization: `Bearer ${secret.is}` };
    expect((await ask(port, '/metrics', { headers })).status).toBe(200);
    tick();
    expect(await stream.text()).toContain('event: parts');
    expect((await visitor.get('/roster')).headers.location).toBe('/sign-in?to=%2Froster');
    const old = await ask(port, '/metrics', { headers: { ...headers, authorization: `Bearer ${token}` } });
    expect(old.status).toBe(401);
  });

  test('sessions of a rotated token end within half a minute, even while another user signs in with the new one', async () => {
    const secret = { is: token };
    const clock = new MovableClock();
    const { port } = await worldFor({ clock, auth: oneToken(async () => secret.is) });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    secret.is = 'another-token-of-decent-length';
    clock.move(30_000);
    expect((await visitor.get('/roster')).status).toBe(303);
    secret.is = token;
    clock.move(30_000);
    expect((await visitor.get('/roster')).status).toBe(303);
  });

  test('an unreadable secret keeps existing sessions valid and does not reveal where it is stored', async () => {
    const secret = { readable: true };
    const clock = new MovableClock();
    const { port, logged } = await worldFor({
      clock,
      auth: oneToken(async () => {
        if (secret.readable) return token;
        throw new Fault('usage', 'console.auth.token: /run/secrets/console cannot be read (ENOENT)');
      }),
    });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    secret.readable = false;
    clock.move(31_000);
    expect((await visitor.get('/roster')).status).toBe(200);
    const answer = await new Visitor(port).send('/sign-in', { token, to: '/' });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([503, undefined]);
    expect(answer.body).toContain('the sign-in cannot be checked now');
    expect(answer.body).not.toContain('/run/secrets');
    expect(logged.filter(({ message }) => message.includes('cannot be read'))).toHaveLength(1);
    secret.readable = true;
    clock.move(5_000);
    expect((await new Visitor(port).send('/sign-in', { token, to: '/' })).status).toBe(303);
  });

  test('signing out ends the live view of this browser', async () => {
    const { port, tick } = await worldFor({ auth });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    await visitor.get('/');
    const stream = await fetch(`http://127.0.0.1:${port}/events`, { headers: { cookie: visitor.cookie } });
    await visitor.send('/sign-out', { csrf: visitor.csrf });
    tick();
    expect(await stream.text()).toContain('retry: 2000');
  });

  test('signing in again ends the session that the browser had', async () => {
    const { port } = await worldFor({ auth });
    const visitor = new Visitor(port);
    await visitor.send('/sign-in', { token, to: '/' });
    const first = visitor.cookie;
    await visitor.send('/sign-in', { token, to: '/' });
    expect((await visitor.get('/roster')).status).toBe(200);
    expect((await ask(port, '/roster', { headers: { cookie: first } })).status).toBe(303);
  });
});

test('with a user and password the browser prompts, and forms still need the CSRF token', async () => {
  const secret = async () => 'ops:a pass:word of length';
  const auth = { tokens: [], basic: { name: 'password:ops', role: 'analyst', secret }, proxy: null } as const;
  const { port } = await worldFor({ auth });
  const asked = await ask(port, '/');
  expect([asked.status, asked.headers['www-authenticate']]).toEqual([
    401,
    'Basic realm="rosterd", charset="UTF-8"',
  ]);
  const authorization = `Basic ${Buffer.from('ops:a pass:word of length').toString('base64')}`;
  expect((await ask(port, '/', { headers: { authorization } })).status).toBe(200);
  const wrong = `Basic ${Buffer.from('root:a pass:word of length').toString('base64')}`;
  expect((await ask(port, '/', { headers: { authorization: wrong } })).status).toBe(401);
  const forged = await ask(port, '/identity', {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'do=show&to=/',
  });
  expect(forged.status).toBe(403);
});

test('the number of live pages is limited, and closing the console ends them', async () => {
  const world = await startConsole({ rows: 1 });
  const open = await Promise.all(Array.from({ length: 24 }, () => fetch(`${world.url}/events`)));
  expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await fetch(`${world.url}/events`)).status).toBe(204);
  await world.close();
  await expect(Promise.all(open.map((response) => response.text()))).resolves.toHaveLength(24);
});
