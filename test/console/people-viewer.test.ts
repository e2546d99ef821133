import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actionsOf, bearer, form, logOf, pausedIn, people, shownOrIn, signedIn, worldFor } from './people.js';
import { ask, person, type RunningConsole, startConsole } from './running-console.js';

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
