import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ConsoleAuth, Credential } from '../../src/console/guard/authenticator.js';
import type { ProxySignIn } from '../../src/console/guard/proxy-users.js';
import { MovableClock } from './movable-clock.js';
import {
  ask,
  type ConsoleOptions,
  hostile,
  person,
  type RunningConsole,
  startConsole,
  Visitor,
} from './running-console.js';

const secrets = {
  viewer: 'the-token-of-vera-1234',
  analyst: 'the-token-of-ana-12345',
  operator: 'the-token-of-oleg-1234',
} as const;
type Named = keyof typeof secrets;

const credential = (role: Named): Credential => ({
  name: `token:${role}`,
  role,
  secret: async () => secrets[role],
});

const people: ConsoleAuth = {
  tokens: [credential('viewer'), credential('analyst'), credential('operator')],
  basic: null,
  proxy: null,
};

const proxyOf = (set: Partial<ProxySignIn>): ConsoleAuth => ({
  ...people,
  proxy: {
    addresses: ['127.0.0.1'],
    header: 'X-Forwarded-User',
    users: [{ name: 'oleg@example.com', role: 'operator' }],
    role: 'viewer',
    ...set,
  },
});

async function worldFor(wish: ConsoleOptions): Promise<RunningConsole> {
  const world = await startConsole({ rows: 1, ...wish });
  onTestFinished(() => world.close());
  return world;
}

async function signedIn({ port }: RunningConsole, who: Named): Promise<Visitor> {
  const visitor = new Visitor(port);
  const answer = await visitor.post('/sign-in', { token: secrets[who], to: '/roster' });
  expect(answer.status).toBe(200);
  return visitor;
}

const bearer = (who: Named) => ({ authorization: `Bearer ${secrets[who]}` });
const form = { 'content-type': 'application/x-www-form-urlencoded' };

function logOf({ database }: RunningConsole): readonly Record<string, unknown>[] {
  return database.raw
    .prepare(
      'SELECT actor, role, action, outcome, source, subject, rows_seen, note FROM audit_log ORDER BY entry',
    )
    .all() as Record<string, unknown>[];
}
const actionsOf = (world: RunningConsole) =>
  logOf(world).map(({ actor, action, outcome }) => `${actor} ${action} ${outcome}`);

const results = ['run', 'csv', 'jsonl', 'parquet', 'xlsx'];
/**
 * Pairs each statement with the page or one format, and each of these with a statement. A statement is judged in one place
 * whatever is made of its rows, and the page and each format tell that place whether names are shown.
 */
const shownOrIn = (statements: readonly string[]): (readonly [sql: string, wanted: string])[] =>
  statements.map((sql, at) => [sql, results[at % results.length] ?? ''] as const);

const pausedIn = ({ database }: RunningConsole): unknown[] =>
  database.raw.prepare('SELECT source FROM pauses').pluck().all();

describe('a viewer', () => {
  let world: RunningConsole;
  beforeAll(async () => {
    world = await startConsole({ rows: 1, auth: people });
  });
  afterAll(() => world.close());

  test('a viewer cannot show names, neither with the button nor with a form of its own', async () => {
    const visitor = await signedIn(world, 'viewer');
    const roster = await visitor.get('/roster');
    expect(roster.body).not.toContain('Show for 15 minutes');
    for (const [path, fields] of [
      ['/identity', { do: 'show', to: '/roster' }],
      ['/sql', { do: 'show', sql: 'SELECT 1' }],
    ] as const)
      expect((await visitor.post(path, fields)).status).toBe(403);
    for (const path of ['/roster', '/records/acme/inv_ada'])
      expect((await visitor.get(path)).body).not.toContain(person);
    const program = await ask(world.port, '/identity', {
      method: 'POST',
      headers: { ...bearer('viewer'), ...form },
      body: 'do=show&to=/',
    });
    expect(program.status).toBe(403);
  });

  test('a viewer cannot read names with SQL, whatever it asks for', async () => {
    const visitor = await signedIn(world, 'viewer');
    await visitor.get('/sql');
    for (const [sql, wanted] of shownOrIn([
      'SELECT name FROM identities',
      'SELECT name FROM roster',
      'SELECT * FROM identity_rows',
      'SELECT body FROM quarantine',
      'SELECT actor FROM audit_log',
      "SELECT (SELECT group_concat(email) FROM identities) || ''",
    ])) {
      const answer = await visitor.post('/sql', { do: wanted, sql, identity: 'yes' });
      expect([sql, wanted, answer.status]).toEqual([sql, wanted, 422]);
      expect(answer.body).not.toContain('ada@example.com');
      // Judged, and not ended for its time.
      expect(answer.body).not.toContain('longer than');
    }
  });

  test('a viewer gets files without names', async () => {
    const visitor = await signedIn(world, 'viewer');
    await visitor.get('/roster');
    const file = await visitor.post('/roster/file', { format: 'csv', identity: 'yes', to: '/roster' });
    expect(file.status).toBe(200);
    expect(file.body).toContain('inv_ada');
    expect(file.body).not.toContain(person);
  });
});

test.each(['viewer', 'analyst'] as const)(
  'a %s sees no pages of operators, and an attempt to act is refused and logged',
  async (role) => {
    const world = await worldFor({ auth: people });
    const visitor = await signedIn(world, role);
    expect((await visitor.get('/roster')).body).not.toContain('href="/actions"');
    for (const path of ['/actions', '/actions/pause?source=acme', '/audit'])
      expect((await visitor.get(path)).status).toBe(403);
    const tried = await visitor.post('/actions/pause', { source: 'acme' });
    expect([tried.status, pausedIn(world)]).toEqual([403, []]);
    expect(actionsOf(world).at(-1)).toBe(`token:${role} pause refused`);
  },
);

test('an analyst shows names with a line in the audit log, and one for each page and query that has them', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'analyst');
  await visitor.post('/identity', { do: 'show', to: '/roster' });
  await visitor.get('/records/acme/inv_ada');
  await visitor.get('/sql');
  await visitor.post('/sql', {
    do: 'run',
    sql: "SELECT name FROM identities WHERE email = 'ada@example.com'",
  });
  await visitor.post('/identity', { do: 'mask', to: '/sql' });
  expect(actionsOf(world)).toEqual([
    'token:analyst sign_in done',
    'token:analyst show_names done',
    'token:analyst read_roster done',
    'token:analyst read_record done',
    'token:analyst query done',
    'token:analyst mask_names done',
  ]);
  expect(logOf(world).at(3)).toMatchObject({ source: 'acme', subject: 'inv_ada' });
  expect(JSON.stringify(logOf(world))).not.toMatch(/ada@example|lovelace|SELECT|the-token/i);
});

test('only an operator reads the audit log and the requests with SQL, also while names are shown', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'analyst');
  await visitor.post('/identity', { do: 'show', to: '/' });
  for (const [sql, wanted] of shownOrIn([
    'SELECT actor FROM audit_log',
    'SELECT actor FROM "main"."operator_requests"',
    'SELECT count(*) FROM operator_requests WHERE source = 1',
    'SELECT name, (SELECT group_concat(actor) FROM audit_log) FROM identities',
    "EXPLAIN QUERY /**/ PLAN SELECT json_extract('{}', (SELECT group_concat(actor) FROM audit_log))",
  ])) {
    const answer = await visitor.post('/sql', { do: wanted, sql });
    expect([sql, wanted, answer.status]).toEqual([sql, wanted, 422]);
    expect(answer.body).not.toContain('token:oleg');
    // Judged, and not ended for its time.
    expect(answer.body).not.toContain('longer than');
  }
  expect((await visitor.post('/sql', { do: 'run', sql: 'SELECT name FROM roster' })).body).toContain(person);
  const operator = await signedIn(world, 'operator');
  await operator.post('/identity', { do: 'show', to: '/' });
  const read = await operator.post('/sql', { do: 'run', sql: 'SELECT actor FROM audit_log' });
  expect([read.status, read.body.includes('token:analyst')]).toEqual([200, true]);
});

const leaking = "SELECT json_extract('{}', (SELECT group_concat(email) FROM identities))";

test('a query that fails while names are shown has its line in the audit log, before its message is shown', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'analyst');
  await visitor.post('/identity', { do: 'show', to: '/' });
  for (const wanted of ['run', 'csv', 'parquet', 'xlsx']) {
    const answer = await visitor.post('/sql', { do: wanted, sql: leaking });
    expect([wanted, answer.status]).toEqual([wanted, 422]);
    expect(answer.body).toContain('ada@example.com');
  }
  expect(actionsOf(world).slice(2)).toEqual([
    'token:analyst query refused',
    // Before its first row is sent.
    'token:analyst download_query done',
    'token:analyst download_query refused',
    'token:analyst download_query refused',
    'token:analyst download_query refused',
  ]);
  world.database.raw.exec(
    "CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  for (const wanted of ['run', 'csv', 'parquet', 'xlsx']) {
    const answer = await visitor.post('/sql', { do: wanted, sql: leaking });
    expect([wanted, answer.status]).toEqual([wanted, 503]);
    expect(answer.body).not.toContain('@example.com');
  }
});

test('names stay masked while the audit log cannot be written', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'analyst');
  await visitor.post('/identity', { do: 'show', to: '/' });
  world.database.raw.exec(
    "CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  const answers = [
    await visitor.get('/roster'),
    await visitor.get('/records/acme/inv_ada'),
    await visitor.post('/sql', { do: 'run', sql: 'SELECT name FROM identities' }),
    await visitor.post('/sql', { do: 'csv', sql: 'SELECT name FROM identities' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  expect(answers.map(({ body }) => body).join()).not.toContain(person);
});

test('what cannot be logged is not done', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'operator');
  await visitor.get('/actions');
  world.database.raw.exec(
    "CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  expect((await visitor.post('/actions/pause', { source: 'acme' })).status).toBe(503);
  expect(pausedIn(world)).toEqual([]);
});

describe('an operator', () => {
  test('pauses and resumes a source: each is confirmed, answered in words and logged', async () => {
    const world = await worldFor({ auth: people });
    const visitor = await signedIn(world, 'operator');
    const confirm = await visitor.get('/actions/pause?source=acme');
    expect(confirm.body).toContain('Pause acme?');
    expect(pausedIn(world)).toEqual([]);
    const done = await visitor.post('/actions/pause', { source: 'acme' });
    expect(done.body).toContain('acme is paused.');
    expect(pausedIn(world)).toEqual(['acme']);
    expect((await visitor.get('/actions')).body).not.toContain('acme is paused.');
    expect((await visitor.post('/actions/resync', { source: 'acme' })).body).toContain('Resume it first.');
    expect((await visitor.post('/actions/resume', { source: 'acme' })).body).toContain('acme goes on');
    expect(actionsOf(world).slice(1)).toEqual([
      'token:operator pause asked',
      'token:operator pause done',
      'token:operator resync asked',
      'token:operator resync refused',
      'token:operator resume asked',
      'token:operator resume done',
    ]);
    expect((await visitor.get('/audit')).body).toContain('token:operator');
  });

  test('an operator asks for a resync and for the quarantine to be read again, once each', async () => {
    const world = await worldFor({ auth: people });
    const visitor = await signedIn(world, 'operator');
    await visitor.get('/actions');
    await visitor.post('/actions/resync', { source: 'acme' });
    const twice = await visitor.post('/actions/resync', { source: 'acme' });
    expect(twice.body).toContain('resync requested by token:operator');
    await visitor.post('/actions/retry-quarantine', { source: 'hostile' });
    expect((await visitor.post('/actions/retry-quarantine', { source: 'acme' })).body).toContain(
      'acme has no record in quarantine.',
    );
    expect(world.database.raw.prepare('SELECT source, kind FROM operator_requests').raw().all()).toEqual([
      ['acme', 'resync'],
      ['hostile', 'retry_quarantine'],
    ]);
  });

  test('an operator deletes only the number of rows that was confirmed', async () => {
    const world = await worldFor({ auth: people });
    world.database.raw.exec(
      "INSERT INTO awaiting_deletion_rows SELECT row_no, source_no, 1, '2026-11-01T00:00:00.000Z' FROM investment_rows WHERE source_no = 1 LIMIT 2",
    );
    world.database.raw.exec('UPDATE sources SET awaiting_deletion = 2 WHERE no = 1');
    const visitor = await signedIn(world, 'operator');
    expect((await visitor.get('/actions/accept-deletions?source=acme')).body).toContain(
      'Delete 2 rows of acme?',
    );
    const stale = await visitor.post('/actions/accept-deletions', { source: 'acme', rows: '1' });
    expect(stale.body).toContain('nothing was deleted');
    expect(world.database.raw.prepare('SELECT count(*) FROM operator_requests').pluck().get()).toBe(0);
    const done = await visitor.post('/actions/accept-deletions', { source: 'acme', rows: '2' });
    expect(done.body).toContain('2 rows of acme are deleted within seconds.');
    expect(world.database.raw.prepare('SELECT kind FROM operator_requests').pluck().all()).toEqual([
      'accept_deletions',
    ]);
  });

  test('an operator sends a notice again that was given up, and none that was delivered', async () => {
    const world = await worldFor({ auth: people });
    const { raw } = world.database;
    raw.exec("UPDATE notice_rows SET state = 'given_up' WHERE notice = 1");
    const visitor = await signedIn(world, 'operator');
    expect((await visitor.get('/actions/resend-notice?notice=1')).body).toContain('Send notice 1 again?');
    expect((await visitor.post('/actions/resend-notice', { notice: '1' })).body).toContain('sent again now');
    const row = () => raw.prepare('SELECT state, attempts, last_error FROM notice_rows').raw().get();
    expect(row()).toEqual(['pending', 0, null]);
    raw.exec("UPDATE notice_rows SET state = 'delivered' WHERE notice = 1");
    const again = await visitor.post('/actions/resend-notice', { notice: '1' });
    expect(again.body).toContain('was delivered or does not exist');
    expect(row()).toEqual(['delivered', 0, null]);
  });

  test('an operator sends an alert again that was given up, confirmed and audited, and none that was delivered', async () => {
    const world = await worldFor({ auth: people });
    const { raw } = world.database;
    raw.exec(`INSERT INTO alert_rows (notice, key, source, target, body, queued_at, state, attempts, next_at, last_error)
      VALUES (7, 'stale.acme', 'acme', 'ops', '{}', '2026-11-01T00:00:00.000Z', 'given_up', 4, '2026-11-02T00:00:00.000Z', 'HTTP 500')`);
    const visitor = await signedIn(world, 'operator');
    const listed = (await visitor.get('/actions')).body;
    expect(listed).toContain('stale.acme');
    expect(listed).toContain('/actions/resend-alert?alert=7');
    expect((await visitor.get('/actions/resend-alert?alert=7')).body).toContain('Send alert 7 again?');
    expect((await visitor.get('/actions/resend-alert?alert=8')).status).toBe(404);
    const row = () => raw.prepare('SELECT state, attempts, last_error FROM alert_rows').raw().get();
    expect(row()).toEqual(['given_up', 4, 'HTTP 500']);
    expect((await visitor.post('/actions/resend-alert', { alert: '7' })).body).toContain('sent again now');
    expect(row()).toEqual(['pending', 0, null]);
    raw.exec("UPDATE alert_rows SET state = 'delivered'");
    const again = await visitor.post('/actions/resend-alert', { alert: '7' });
    expect(again.body).toContain('Alert 7 was delivered or does not exist');
    expect(row()).toEqual(['delivered', 0, null]);
    expect(actionsOf(world).slice(1)).toEqual([
      'token:operator resend_alert asked',
      'token:operator resend_alert done',
      'token:operator resend_alert asked',
      'token:operator resend_alert refused',
    ]);
    expect(logOf(world).at(-1)).toMatchObject({ source: null, subject: '7' });
  });

  test('a program gets the answer to an action as JSON', async () => {
    const world = await worldFor({ auth: people });
    const act = (path: string, body: string) =>
      ask(world.port, path, { method: 'POST', headers: { ...bearer('operator'), ...form }, body });
    expect(JSON.parse((await act('/actions/pause', 'source=acme')).body)).toMatchObject({ done: true });
    const refused = await act('/actions/pause', 'source=nobody');
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([422, { done: false }]);
  });

  test.each([
    ['/actions/resend-notice', 'notice=-3', 'The field "notice" must be a whole number, not "-3".'],
    [
      '/actions/resend-notice',
      'source=acme',
      'The field "notice" must be a whole number, and it is missing.',
    ],
    ['/actions/resend-alert', 'alert=x%0A', 'The field "alert" must be a whole number, not "x\\u000a".'],
    [
      '/actions/accept-deletions',
      'source=acme&rows=all',
      'The field "rows" must be a whole number, not "all".',
    ],
  ])('%s with %s is refused with what is expected', async (path, body, message) => {
    const world = await worldFor({ auth: people });
    const headers = { ...bearer('operator'), ...form };
    const refused = await ask(world.port, path, { method: 'POST', headers, body });
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([422, { done: false, message }]);
    expect(logOf(world).at(-1)).toMatchObject({ outcome: 'refused', note: 'not a number' });
  });

  test('another site cannot act for an operator, nor without the CSRF token of the session', async () => {
    const world = await worldFor({ auth: people });
    const visitor = await signedIn(world, 'operator');
    await visitor.get('/actions');
    const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      visitor.send('/actions/pause', { source: 'acme', ...fields }, headers);
    const answers = [
      await send({}),
      await send({ csrf: 'x' }),
      await send({ csrf: visitor.csrf }, { origin: 'https://evil.example' }),
      await send({ csrf: visitor.csrf }, { 'sec-fetch-site': 'cross-site' }),
      await ask(world.port, '/actions/pause?source=acme', { headers: { cookie: visitor.cookie } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 200]);
    expect(pausedIn(world)).toEqual([]);
  });

  test('an operator cannot be imitated with the CSRF token of another session', async () => {
    const world = await worldFor({ auth: people });
    const [viewer, operator] = [await signedIn(world, 'viewer'), await signedIn(world, 'operator')];
    await viewer.get('/roster');
    const answer = await ask(world.port, '/actions/pause', {
      method: 'POST',
      headers: {
        ...form,
        cookie: operator.cookie,
        origin: `http://127.0.0.1:${world.port}`,
        host: `127.0.0.1:${world.port}`,
      },
      body: `source=acme&csrf=${viewer.csrf}`,
    });
    expect([answer.status, pausedIn(world)]).toEqual([403, []]);
  });

  test('an operator sees hostile names of sources and notices as text', async () => {
    const world = await worldFor({ auth: people });
    const visitor = await signedIn(world, 'operator');
    await visitor.get('/actions');
    for (const body of [
      (await visitor.get('/actions')).body,
      (await visitor.post('/actions/pause', { source: hostile })).body,
      (await visitor.get('/audit')).body,
    ])
      expect(body).not.toContain('<script>window.pwned');
  });
});

test('a session that began before the sign-in does not become signed in with it', async () => {
  const world = await worldFor({ auth: people });
  const planted = new Visitor(world.port);
  await planted.get('/sign-in');
  const fixed = `rosterd_${world.port}=${'a'.repeat(32)}`;
  const answer = await ask(world.port, '/sign-in', {
    method: 'POST',
    headers: {
      ...form,
      cookie: fixed,
      origin: `http://127.0.0.1:${world.port}`,
      host: `127.0.0.1:${world.port}`,
    },
    body: new URLSearchParams({ token: secrets.operator, to: '/' }).toString(),
  });
  expect(String(answer.headers['set-cookie'])).not.toContain('a'.repeat(32));
  expect((await ask(world.port, '/actions', { headers: { cookie: fixed } })).status).toBe(303);
});

test('signing in with another token does not inherit shown names', async () => {
  const world = await worldFor({ auth: people });
  const visitor = await signedIn(world, 'analyst');
  await visitor.post('/identity', { do: 'show', to: '/' });
  await visitor.post('/sign-in', { token: secrets.operator, to: '/' });
  expect((await visitor.get('/records/acme/inv_ada')).body).not.toContain(person);
});

test('rotating one token ends its sessions only', async () => {
  const clock = new MovableClock();
  const secret = { is: secrets.analyst as string };
  const tokens = [credential('viewer'), { ...credential('analyst'), secret: async () => secret.is }];
  const world = await worldFor({ clock, auth: { ...people, tokens } });
  const [viewer, analyst] = [await signedIn(world, 'viewer'), await signedIn(world, 'analyst')];
  secret.is = 'another-token-of-decent-length';
  clock.move(31_000);
  expect([(await viewer.get('/roster')).status, (await analyst.get('/roster')).status]).toEqual([200, 303]);
});

test('two tokens with one value give the lower role', async () => {
  const tokens = [{ ...credential('operator'), secret: async () => secrets.viewer }, credential('viewer')];
  const { port } = await worldFor({ auth: { ...people, tokens } });
  const answer = await ask(port, '/actions', { headers: bearer('viewer') });
  expect(answer.status).toBe(403);
});

test('an unreadable token locks out its own user only', async () => {
  const tokens = [
    {
      ...credential('viewer'),
      secret: async () => {
        throw new Error('gone');
      },
    },
    credential('operator'),
  ];
  const { port } = await worldFor({ auth: { ...people, tokens } });
  expect((await ask(port, '/actions', { headers: bearer('operator') })).status).toBe(200);
  expect((await ask(port, '/actions', { headers: bearer('viewer') })).status).toBe(503);
});

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
