import { describe, expect, test } from 'vitest';
import { MovableClock } from './movable-clock.js';
import {
  actionsOf,
  bearer,
  credential,
  form,
  logOf,
  pausedIn,
  people,
  secrets,
  signedIn,
  worldFor,
} from './people.js';
import { ask, hostile, person, Visitor } from './running-console.js';

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
