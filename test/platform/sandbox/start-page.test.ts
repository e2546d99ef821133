import { execFile } from 'node:child_process';
import { createServer, get as httpGet, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { featuresOf } from '../../../src/platform/features.js';
import { createServices, listen } from '../../../src/platform/platform.js';
import { systemClock } from '../../../src/runtime/clock.js';
import {
  company,
  type RunningPlatform,
  startNewlySeeded,
  worldStart,
} from '../../conformance/running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startNewlySeeded();
});
afterEach(() => world.close());

interface Opened {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function fetched(path: string, init: RequestInit = {}): Promise<Opened> {
  const response = await fetch(world.url + path, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const cookieOf = ({ headers }: Opened): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';

/** Presses a button as a browser does, with the cookie and the token of an opened page. */
async function press(
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = { origin: 'null', 'sec-fetch-site': 'same-origin' },
  known?: string,
): Promise<Opened> {
  const opened = await fetched('/', known === undefined ? {} : { headers: { cookie: known } });
  const cookie = known ?? cookieOf(opened);
  const csrf = /name="csrf" value="([^"]+)"/.exec(opened.text)?.[1] ?? '';
  const body = new URLSearchParams({ csrf, ...fields });
  return fetched('/', { method: 'POST', body, headers: { cookie, ...headers } });
}

const plain = (markup: string): string =>
  markup.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Returns the log as the page's script receives it. */
const log = async (): Promise<string> => {
  const { text } = await fetched('/_sandbox/start');
  return text.slice(text.indexOf('id="log"'));
};

test('the start page of a sandbox lists people, tokens, links, clock and faults', async () => {
  const { status, text, headers } = await fetched('/');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  for (const { name, token } of world.ready.users) {
    expect(text).toContain(name);
    expect(text).toContain(token);
  }
  expect(text).toContain(company(world).token);
  for (const path of ['/docs', '/portal', '/openapi.json', '/_sandbox', '/sandbox/oauth/authorize?'])
    expect(text).toContain(`href="${path}`);
  expect(text).toContain('2026-11-02 09:00:00 UTC');
  expect(text).toContain('None: every request is answered normally.');
});

test('the start page has the security headers of the other pages and allows only scripts of its own server', async () => {
  const [start, portal] = [await fetched('/'), await fetched('/portal')];
  const names = [
    'x-frame-options',
    'referrer-policy',
    'cross-origin-opener-policy',
    'permissions-policy',
    'cache-control',
    'x-content-type-options',
  ];
  for (const name of names) expect([name, start.headers.get(name)]).toEqual([name, portal.headers.get(name)]);
  expect(start.headers.get('cross-origin-resource-policy')).toBe('same-origin');
  const policy = start.headers.get('content-security-policy') ?? '';
  expect(policy).toContain(`default-src 'none'`);
  expect(policy).toContain(`script-src 'self'`);
  expect(policy).not.toContain('unsafe-inline');
  expect(portal.headers.get('content-security-policy')).not.toContain('script-src');
  expect(start.text.match(/<script[^>]*>/g)).toEqual(['<script src="/_sandbox/start.js" defer>']);
  expect((await fetched('/_sandbox/start.js')).headers.get('content-type')).toBe(
    'text/javascript; charset=utf-8',
  );
});

test.each(['/', '/_sandbox/start', '/_sandbox/start.js'])(
  'the start page rejects other origins and DNS rebinding: %s',
  async (path) => {
    const foreign = await fetched(path, { headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
    expect(foreign.text).not.toContain('at_test_');
    expect(await statusFor(path, 'rebound.evil.example:4010')).toBe(403);
    expect(await statusFor(path, 'localhost:4010')).toBe(200);
  },
);

/** `fetch` does not set the Host header. */
function statusFor(path: string, host: string): Promise<number | undefined> {
  const { hostname, port } = new URL(world.url);
  return new Promise((resolve, reject) => {
    httpGet({ hostname, port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}

test('a platform without the control API has no start page', async () => {
  const services = createServices();
  const routes = featuresOf(services, systemClock).flatMap((feature) => feature.routes);
  const server = await listen(services, routes, [], { host: '127.0.0.1', port: 0 });
  try {
    expect((await fetch(server.url)).status).toBe(404);
    expect((await fetch(`${server.url}/_sandbox/start`)).status).toBe(404);
  } finally {
    await server.close();
    services.state.close();
  }
});

test('one click on the start page signs a person in for the portal too', async () => {
  const signed = await press({ action: 'sign_in', email: 'owner@people.example' });
  expect([signed.status, signed.headers.get('location')]).toEqual([303, '/']);
  const cookie = cookieOf(signed);
  expect((await fetched('/portal', { headers: { cookie } })).text).toContain('Roster Mirror');
  const out = await press({ action: 'sign_out' }, {}, cookie);
  expect(out.status).toBe(303);
  expect((await fetched('/portal', { headers: { cookie } })).text).not.toContain('Roster Mirror');
  expect((await press({ action: 'sign_in', email: 'nobody@people.example' })).status).toBe(422);
});

test.each([
  ['another site', { origin: 'https://evil.example' }, {}],
  ['another port of this machine', { origin: 'http://127.0.0.1:3000' }, {}],
  ['a page without origin on another site', { origin: 'null', 'sec-fetch-site': 'cross-site' }, {}],
  ['a page of the same site', { 'sec-fetch-site': 'same-site' }, {}],
  ['a page that does not know the token', { origin: 'null' }, { csrf: 'guessed' }],
])('a form of %s cannot move the clock of the sandbox', async (_who, headers, fields) => {
  const before = world.clock.now();
  const answered = await press({ action: 'advance', seconds: '3600', ...fields }, headers);
  expect(answered.status).toBe(403);
  expect(world.clock.now()).toBe(before);
});

test('a form sent under a rebound host name cannot move the clock of the sandbox', async () => {
  const opened = await fetched('/');
  const csrf = /name="csrf" value="([^"]+)"/.exec(opened.text)?.[1] ?? '';
  const body = new URLSearchParams({ csrf, action: 'advance', seconds: '3600' }).toString();
  const { hostname, port } = new URL(world.url);
  const send = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, origin: `http://${host}`, cookie: cookieOf(opened) };
      httpRequest({ hostname, port, path: '/', method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end(body);
    });
  expect(await send('rebound.evil.example:4010')).toBe(403);
  expect(world.clock.now()).toBe(worldStart);
  expect(await send('localhost:4010')).toBe(303);
  expect(world.clock.now()).toBe(worldStart + 3_600_000);
});

test.each([
  ['3600', 3_600_000, '1 hour ahead'],
  ['86400', 86_400_000, '1 day ahead'],
  ['7776000', 7_776_000_000, '90 days ahead'],
])('the clock button of %s seconds moves the clock of the sandbox', async (seconds, millis, shown) => {
  const moved = await press({ action: 'advance', seconds });
  expect([moved.status, moved.headers.get('location')]).toEqual([303, '/']);
  expect(world.clock.now()).toBe(worldStart + millis);
  expect((await fetched('/_sandbox/start')).text).toContain(shown);
});

test('the start page refuses a step that has no button, and an unknown action', async () => {
  expect((await press({ action: 'advance', seconds: '999999' })).status).toBe(400);
  expect((await press({ action: 'drop_tables' })).status).toBe(400);
  expect(world.clock.now()).toBe(worldStart);
});

test('the start page marks the tokens that expired when the clock moved', async () => {
  expect((await fetched('/')).text).not.toContain('expired</span>');
  await press({ action: 'advance', seconds: '86400' });
  const { text } = await fetched('/');
  expect(text.match(/expired<\/span>/g)?.length).toBe(2 * world.ready.users.length);
  await press({ action: 'reset' });
  expect(world.clock.now()).toBe(worldStart);
  expect((await fetched('/')).text).not.toContain('expired</span>');
});

test('the start page shows the faults in force without their bodies, and clears them', async () => {
  const action = { status: 503, delayMs: 20, body: 'body-of-the-fault' };
  await world.control('POST', '/faults', [
    { method: 'get', path: '*', times: 3, after: 1, action },
    { path: 'webhook', action: { lose: true } },
  ]);
  const { text } = await fetched('/');
  expect(text).toContain('GET *');
  expect(text).toContain('delayed by 20 ms, status 503');
  expect(text).toContain('webhook deliveries');
  expect(text).not.toContain('body-of-the-fault');
  expect((await press({ action: 'clear_faults' })).status).toBe(303);
  expect((await fetched('/_sandbox/start')).text).toContain('None: every request is answered normally.');
});

test('the log of the start page shows method, path, status, request id and the scopes used', async () => {
  const { id, token } = company(world);
  const listed = await world.get('/investments?search=Olga+Owner', { token });
  const refused = await world.get(`/companies/${id}`);
  const text = await log();
  expect(text).toContain('GET /investments<');
  expect(text).toContain('read:investments');
  for (const { headers } of [listed, refused])
    expect(text).toContain(headers.get(world.services.options.headers.requestId));
  expect(text).toContain(`GET /companies/${id}`);
  expect(text.indexOf('401')).toBeLessThan(text.indexOf('200'));
});

test('the log of the start page has no token, name, query or part of an unknown path', async () => {
  world.expectUndeclared();
  const [person] = world.ready.users;
  const secret = company(world).token;
  for (const path of [
    `/checkout/${secret}`,
    `/review/${secret}`,
    `/join/${secret}`,
    `/users/${person?.name}`,
    `/companies/${person?.email}`,
    `/companies/${secret}`,
    `/attribution/invites/${secret}`,
    `/${secret}`,
    `/invesments/${secret}?token=${secret}`,
    `/investments?token=${secret}`,
  ])
    await world.get(path, { token: secret });
  const text = await log();
  expect(text.match(/<time/g)).toHaveLength(10);
  for (const hidden of [secret, person?.name ?? '', person?.email ?? '', 'token='])
    expect(text).not.toContain(hidden);
  for (const shown of ['GET /checkout/{token}', 'GET /invesments/…', 'GET /companies/{id}', 'GET /…<'])
    expect(text).toContain(shown);
});

test('the log of the start page shows deliveries with their status, without the path of the receiver', async () => {
  const receiver = await receiving(202);
  const { port } = receiver.address() as AddressInfo;
  try {
    const attempted = new Promise((resolve) => world.services.events.onAttempt(resolve));
    await world.control('POST', '/webhooks', {
      url: `http://127.0.0.1:${port}/secret-path`,
      events: ['investment.changed'],
    });
    await world.control('POST', '/investments', { company: company(world).id });
    await attempted;
    const text = await log();
    expect(text).toContain(`investment.changed to 127.0.0.1:${port}`);
    expect(text).toContain('202');
    expect(text).not.toContain('secret-path');
  } finally {
    await new Promise((resolve) => receiver.close(resolve));
  }
});

async function receiving(status: number): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { connection: 'close' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

test('the log keeps the last 100 entries, leaves out the page and the control API, and shows a cut connection', async () => {
  world.expectUndeclared();
  await world.get('/oldest');
  await Promise.all(Array.from({ length: 99 }, () => world.get('/campaigns')));
  expect(await log()).toContain('GET /oldest');
  await fetched('/');
  await world.control('GET', '');
  expect(await log()).toContain('GET /oldest');
  await world.control('POST', '/faults', { path: '/docs', action: { drop: true } });
  await expect(world.get('/docs')).rejects.toThrow();
  const text = await log();
  expect(text).not.toContain('GET /oldest');
  expect(text).toContain('connection cut');
  expect(text.match(/<time/g)).toHaveLength(100);
});

test('a fault for every path does not reach the start page', async () => {
  await world.control('POST', '/faults', { path: '*', action: { status: 503 } });
  expect((await fetched('/')).status).toBe(200);
  world.expectUndeclared();
  expect((await world.get('/docs')).status).toBe(503);
});

test.each([
  ['open_checkout', /^\/checkout\//, 'POST /offerings/'],
  ['open_review', /^\/review\//, 'POST /intents'],
])('the button %s calls the API and opens the page that the response names', async (action, page, call) => {
  const opened = await press({ action });
  expect(opened.status).toBe(303);
  const location = opened.headers.get('location') ?? '';
  expect(location).toMatch(page);
  expect((await fetched(location)).status).toBe(200);
  expect(await log()).toContain(call);
});

test('the link to the consent page opens it', async () => {
  const { text } = await fetched('/');
  const link = plain(/href="(\/sandbox\/oauth\/authorize[^"]+)"/.exec(text)?.[1] ?? '');
  const opened = await fetched(link);
  expect(opened.status).toBe(200);
  expect(opened.text).toContain('Sign in to continue to Roster Mirror');
});

test('the button for a review shows the message of the API when the token has expired', async () => {
  await press({ action: 'advance', seconds: '86400' });
  const refused = await press({ action: 'open_review' });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('This access token has expired.');
});

/** Runs every command of the start page in a shell, and expects it to succeed. Returns the commands. */
async function pasted(): Promise<readonly string[]> {
  const { text } = await fetched('/');
  const lines = [...text.matchAll(/<pre id="curl-\d+">([^<]+)<\/pre>/g)].map(([, line]) => plain(line ?? ''));
  for (const line of lines) {
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} -w '\\n%{http_code}'`]);
    expect([line, stdout.trim().split('\n').at(-1)]).toEqual([line, expect.stringMatching(/^20[01]$/)]);
  }
  await fetched('/_sandbox/faults', { method: 'DELETE' });
  return lines;
}

test('every command of the start page works as pasted into a shell after the token of a person has expired', async () => {
  await press({ action: 'advance', seconds: '86400' });
  const lines = await pasted();
  expect(lines.filter((line) => line.includes('grant_type=refresh_token'))).toHaveLength(1);
  expect(lines).toHaveLength(6);
  // Its refresh token is used now, and the page does not know the new one.
  expect(await pasted()).toHaveLength(5);
});

test('every command of the start page works as pasted into a shell', async () => {
  const lines = await pasted();
  expect(lines).toHaveLength(6);
  await promisify(execFile)('sh', ['-c', lines.find((line) => line.includes('/faults')) ?? '']);
  expect((await fetched('/')).text).toContain('status 503');
});
