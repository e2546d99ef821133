import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fieldsIn } from '../../src/cli/commands/trigger.js';
import { company, type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { desk } from './connect-session.js';
import { rosterd } from './fake-io.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform();
});
afterAll(() => world.close());
beforeEach(() => world.control('POST', '/reset'));

const run = (args: readonly string[], env: Record<string, string> = { ROSTERD_SANDBOX: world.url }) =>
  rosterd(['trigger', ...args], desk().io({ env }));
const json = async (...args: string[]) => {
  const { code, out, err } = await run([...args, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
};
const token = () => company(world).token;
const record = async (id: string) => (await world.get(`/investments/${id}`, { token: token() })).body.data;
const listed = async () =>
  (await world.get(`/investments?company_id=${company(world).id}&per_page=100`, { token: token() })).body
    .data;

test('trigger investment.created creates investments with the given fields', async () => {
  const { ids } = await json(
    ...['investment.created', '--company', company(world).id, '--count', '3'],
    ...['--set', 'amounts.committed_cents=777700'],
  );
  expect(ids).toHaveLength(3);
  expect(JSON.stringify(await record(ids[0]))).toContain('777700');
});

test('trigger investment.changed changes as many investments of a company as requested', async () => {
  const { ids } = await json(
    ...['investment.changed', '--company', company(world).id, '--set', 'status=canceled', '--count', '2'],
  );
  expect(ids).toHaveLength(2);
  const status = world.services.state.prepare('SELECT status FROM investments WHERE id = ?').pluck();
  for (const id of ids) expect(status.get(id)).toBe('canceled');
  const one = await json('investment.canceled', '--company', company(world).id);
  expect(ids).not.toContain(one.ids[0]);
});

test('trigger changes one investment or removes it from the feed', async () => {
  const [{ id }] = await listed();
  await json('investment.changed', id, '--set', 'message=Hello there');
  await json('investment.withdrawn', id);
  expect((await listed()).map((one: { id: string }) => one.id)).not.toContain(id);
});

test('trigger churn, clock, deactivate, revoke and reset act on the sandbox', async () => {
  expect((await json('churn', '--changes', '20')).ids).toHaveLength(20);
  const before = world.clock.now();
  await json('clock', '--advance', '3d');
  expect(world.clock.now() - before).toBe(3 * 86_400_000);
  await json('revoke', company(world).installation);
  expect((await world.get('/investments', { token: token() })).status).toBe(401);
  await json('reset');
  expect((await world.get('/investments', { token: token() })).status).toBe(200);
  expect((await run(['deactivate', world.ready.users.at(-1)?.id ?? ''])).code).toBe(0);
});

test.each([
  ['churn --changes 2 --count 3', '--count and --changes: give one of them'],
  ['investment.canceled inv_1 --count 2', 'an id and --count: give one of them'],
  ['investment.withdrawn inv_1 --company co_1', 'an id and --company: give one of them'],
  ['investment.created inv_1 --company co_1', 'investment.created does not take an id'],
  ['churn --set status=canceled', 'churn does not take --set'],
  ['clock --advance 3d --count 2', 'clock does not take --count'],
  ['reset --company co_1', 'reset does not take --company'],
])('trigger %s is rejected, because an option would have no effect', async (line, message) => {
  const { code, out, err } = await run(line.split(' '), { ROSTERD_SANDBOX: 'http://127.0.0.1:9' });
  expect([code, out, err.split('\n')[0]]).toEqual([2, '', `error: ${message}`]);
});

test('trigger finds a sandbox only by flag, environment or a local platform.baseUrl', async () => {
  const local = desk();
  local.write('config.json', JSON.stringify({ platform: { baseUrl: world.url } }));
  expect((await rosterd(['trigger', 'churn'], local.io())).code).toBe(0);
  expect((await run(['churn', '--url', `${world.url}/_sandbox`], {})).code).toBe(0);
  const remote = desk();
  remote.write('config.json', JSON.stringify({ platform: { baseUrl: 'https://api.example.com' } }));
  const { code, err } = await rosterd(['trigger', 'churn'], remote.io());
  expect([code, err]).toEqual([2, expect.stringContaining('not a sandbox on this machine')]);
  const nowhere = await run(['churn'], {});
  expect([nowhere.code, nowhere.err]).toEqual([
    2,
    expect.stringMatching(/^error: there is no configuration at .*\nTry: .*--url http:\/\/127\.0\.0\.1:PORT/),
  ]);
  remote.write('config.json', '{}');
  const invalid = await rosterd(['trigger', 'churn'], remote.io());
  expect(invalid.err).toMatch(/^error: the configuration has a problem:\n.*\nTry: fix these /);
  for (const said of ['localhost:4010', '127.0.0.1:4010', 'file:///x']) {
    const { code, err } = await run(['churn'], { ROSTERD_SANDBOX: said });
    expect([code, err]).toEqual([2, expect.stringContaining(`"${said}" is not the address of a sandbox`)]);
    expect(err).toContain('--url http://127.0.0.1:PORT');
  }
  const named = await run(['churn'], { ROSTERD_SANDBOX: 'http://me:hunter2@127.0.0.1:9' });
  expect([named.code, named.err]).toEqual([
    2,
    expect.stringMatching(/^error: "http:..…@127\.0\.0\.1:9" is not the address of a sandbox\n/),
  ]);
  const gone = await run(['churn'], { ROSTERD_SANDBOX: 'http://127.0.0.1:9' });
  expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('no sandbox answers')]);
});

test('trigger reports wrong arguments before it changes anything', async () => {
  expect((await run(['earthquake'])).err).toContain('investment.created');
  expect((await run(['clock', '--advance', 'soon'])).err).toContain('90s, 15m, 6h or 3d');
  for (const time of ['-5s', '99999999999d', 'NaNd', '3 d']) {
    const refused = await run(['clock', '--advance', time]);
    expect([time, refused.code, refused.err]).toEqual([
      time,
      2,
      expect.stringMatching(/^error: --advance is ".*"\nTry: 90s, .*; --now moves the clock to a time/),
    ]);
  }
  for (const time of ['tomorrow', '2026-11-31T00:00:00Z', '2026-12-01'])
    expect(await run(['clock', '--now', time])).toMatchObject({
      code: 2,
      err: `error: --now is "${time}"\nTry: a time with its zone, such as 2026-12-01T00:00:00Z\n`,
    });
  const both = await run(['clock', '--advance', '1d', '--now', '2026-12-01T00:00:00Z']);
  expect([both.code, both.err]).toEqual([
    2,
    expect.stringContaining('--advance and --now: give one of them'),
  ]);
  expect((await run(['revoke'])).code).toBe(2);
  expect((await run(['investment.created'])).err).toContain('companies[].id');
  const many = await run(['investment.canceled', '--company', company(world).id, '--count', '900']);
  expect([many.code, many.err]).toEqual([2, expect.stringContaining('not 900')]);
  const unknown = await run(['investment.canceled', 'inv_unknown']);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('name an id of this sandbox')]);
  const elsewhere = await run(['churn', '--url', `${world.url}/investments`]);
  expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining('is this a sandbox?')]);
});

test('--set nests fields and parses values as JSON where possible', () => {
  expect(
    fieldsIn(['amounts.committed_cents=5', 'amounts.currency=usd', 'visible=false', 'group=null']),
  ).toEqual({
    amounts: { committed_cents: 5, currency: 'usd' },
    visible: false,
    group: null,
  });
  expect(() => fieldsIn(['amounts=5', 'amounts.currency=usd'])).toThrow('another --set gave amounts a value');
  expect(() => fieldsIn(['__proto__.x=1'])).not.toThrow();
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
});
