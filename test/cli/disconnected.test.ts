import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeCredentials } from '../../src/client/tokens/credentials-file.js';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { makeClient, tokensFor } from '../conformance/credentials.js';
import { company, startPlatform } from '../conformance/running-platform.js';
import { desk } from './connect-session.js';
import { rosterd } from './fake-io.js';

/** Three sources: two companies with installation tokens and a founder with a sign-in. */
async function office() {
  const world = await startPlatform({ clock: systemClock });
  onTestFinished(() => world.close());
  const { folder, io, write } = desk();
  const client = makeClient(world, { scopes: ['read:investments'] });
  const founder = world.ready.users.find(({ id }) => id === company(world, 1).founder);
  const tokens = await tokensFor(world, client, founder?.email ?? '', { scope: 'read:investments' });
  await writeCredentials(join(folder, 'mine.json'), {
    clientId: client.clientId,
    clientSecret: null,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    previousRefreshToken: null,
    expiresAt: null,
    scope: tokens.scope,
  });
  write(
    'config.json',
    JSON.stringify({
      platform: { baseUrl: world.url },
      console: null,
      sources: [
        ...[0, 1].map((index) => ({
          name: `company-${index}`,
          token: company(world, index).token,
          company: company(world, index).id,
          installation: company(world, index).installation,
        })),
        {
          name: 'mine',
          credentials: { file: 'mine.json', clientId: client.clientId, clientSecret: { env: 'SECRET' } },
          company: company(world, 1).id,
        },
      ],
    }),
  );
  const env = { SECRET: client.secret };
  const run = (...args: string[]) => rosterd(args, io({ env }));
  const sync = async () => {
    const { code, out, err } = await run('sync', '--json');
    const outcomes = JSON.parse(out).map((one: { source: string; outcome: string }) => [
      one.source,
      one.outcome,
    ]);
    return { code, err, outcomes: Object.fromEntries(outcomes) };
  };
  const requests = async (method: string, path: string) =>
    (await world.control('GET', '/requests')).body.requests.filter(
      (one: { method: string; path: string }) => one.method === method && one.path === path,
    ).length;
  return { world, folder, env, run, sync, requests, tokens, client };
}

test('a revoked installation halts only its source with a hint, and rosterd never reinstalls it', async () => {
  const { world, run, sync, requests } = await office();
  expect((await sync()).code).toBe(0);
  await world.control('POST', `/installations/${company(world).installation}/revoke`);
  await world.control('POST', '/investments', { company: company(world, 1).id });
  const { code, err, outcomes } = await sync();
  expect(code).toBe(3);
  expect(outcomes).toMatchObject({ 'company-1': 'done', mine: 'done' });
  expect(outcomes['company-0']).not.toBe('done');
  expect(err).toMatch(/company-0: .*rosterd connect/s);
  const status = JSON.parse((await run('status', '--json')).out);
  const states = Object.fromEntries(
    status.sources.map((one: { source: string; state: string }) => [one.source, one.state]),
  );
  expect(states).toEqual({ 'company-0': 'halted', 'company-1': 'following', mine: 'following' });
  expect(
    (await run('query', "SELECT count(*) AS n FROM investments WHERE source = 'company-0'", '--json')).out,
  ).not.toBe('[{"n":0}]\n');
  expect(await requests('POST', '/installations')).toBe(0);
});

test('CLIENT-12 an expired sign-in stops its source with exit code 3 and is not retried in a loop', async () => {
  const { sync, world, client, tokens, requests } = await office();
  expect((await sync()).code).toBe(0);
  const form = new URLSearchParams({
    token: tokens.access_token,
    client_id: client.clientId,
    client_secret: client.secret,
  });
  expect((await world.post('/oauth/revoke', { body: form })).status).toBe(200);
  const before = await requests('POST', '/oauth/token');
  const { code, err, outcomes } = await sync();
  expect(code).toBe(3);
  expect(outcomes).toMatchObject({ 'company-0': 'done', 'company-1': 'done' });
  expect(err).toMatch(/mine: .*rosterd connect/s);
  expect((await requests('POST', '/oauth/token')) - before).toBe(1);
});

test('the daemon continues with the other sources while one waits for a human', async () => {
  const { world, folder, env } = await office();
  const { config } = loadConfig({ cwd: folder, env });
  const parts = { config, clock: systemClock, random: seededRandom(1), logger: silentLogger };
  const daemon = await startDaemon(parts);
  onTestFinished(() => daemon.close());
  const tick = async (index: number) => {
    const { name } = config.sources[index] ?? { name: undefined };
    if (name === undefined) throw new Error('no such source');
    return daemon.engine.sync.tick(name);
  };
  await Promise.all([0, 1, 2].map(tick));
  await world.control('POST', `/installations/${company(world).installation}/revoke`);
  expect((await tick(0)).phase).toMatchObject({ kind: 'halted', code: 'unauthorized' });
  await world.control('POST', '/investments', { company: company(world, 1).id });
  expect((await tick(1)).report).toMatchObject({ outcome: 'done', applied: { added: 1 } });
});
