import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { testRandom } from '../support/chance.js';
import { freePort } from '../support/free-port.js';
import { openRaw } from '../support/open-raw.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';
import { type FilledPostgres, filledPostgres } from './filled-postgres.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror();
  await world.sync();
});

afterAll(() => world.close());

const secret = 'whsec_a-secret-for-this-test';

async function daemonIn(folder: string, env: Record<string, string>) {
  const port = await freePort();
  const file = join(folder, 'config.json');
  writeFileSync(
    file,
    JSON.stringify({
      ...JSON.parse(readFileSync(file, 'utf8')),
      console: { listen: '127.0.0.1:0' },
      receiver: { listen: `127.0.0.1:${port}`, secrets: [{ env: 'HOOK' }] },
      sync: { intervalSeconds: 1 },
    }),
  );
  const { config } = loadConfig({ file, cwd: folder, env: { ...env, HOOK: secret } });
  const said: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    child: () => logger,
    info: (_fields, message) => void said.push(message),
  };
  const daemon = await startDaemon({ config, clock: systemClock, random: testRandom(), logger });
  onTestFinished(() => daemon.close());
  const url = `http://127.0.0.1:${port}/webhooks`;
  const deliver = async (id: string, installation: string) => {
    const body = JSON.stringify({
      id,
      event: 'investment.changed',
      created_at: new Date().toISOString(),
      mode: 'test',
      installation: { id: installation, target: null, test: false },
      data: { id: 'inv_x', visible: true, observed_at: new Date().toISOString() },
    });
    const t = Math.floor(Date.now() / 1000);
    const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'Service-Signature': `t=${t},v1=${v1}` };
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  return { daemon, deliver, said };
}

const env = () => ({ ...world.io().env, HOOK: secret }) as Record<string, string>;
const run = (...args: string[]) => world.run(args, { env: env() });

test('pause stops a running daemon, which accepts webhooks and works them after resume', async () => {
  const { daemon, deliver, said } = await daemonIn(world.folder, env());
  await daemon.engine.sync.idle();
  const { code, out } = await run('pause');
  expect([code, out]).toEqual([0, expect.stringMatching(/^acme: paused since 20\d\d-/)]);
  const statusOf = async () =>
    (await (await fetch(`${daemon.consoleUrl}/status.json`)).json()) as {
      health: string;
      sources: { paused_at: string | null; last_tick_at: string; health: string }[];
    };
  await expect.poll(() => said).toContain('the source is paused');
  await expect.poll(() => daemon.engine.sync.isBusy('acme' as never)).toBe(false);
  const reader = openRaw(join(world.folder, 'mirror.db'), { readonly: true });
  onTestFinished(() => void reader.close());
  const count = (table: string) => Number(reader.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  expect(await deliver('evt_paused', world.company.installation)).toBe(202);
  const state = () =>
    reader.prepare("SELECT state FROM webhook_inbox WHERE event_id = 'evt_paused'").pluck().get();
  expect(state()).toBe('pending');
  const status = await run('status');
  expect(status.out).toMatch(/acme +following \(paused\)/);
  expect(status.out).toContain('acme: paused since');
  expect((await run('status', '--check')).code).toBe(1);
  const metrics = await (await fetch(`${daemon.consoleUrl}/metrics`)).text();
  expect(metrics).toContain('rosterd_source_paused{source="acme"} 1');
  expect(await (await fetch(`${daemon.consoleUrl}/`)).text()).toContain('>Paused</span>');
  expect((await statusOf()).sources[0]).toMatchObject({ health: 'working' });
  const ticks = count('tick_rows');

  const resumed = await run('resume');
  expect([resumed.code, resumed.out, resumed.err]).toEqual([0, 'resumed: acme\n', '']);
  await expect.poll(state).toBe('worked');
  expect(count('tick_rows')).toBeGreaterThan(ticks);
});

test('sync refuses a paused source with exit code 5, and a pause survives a restart', async () => {
  await run('pause', '--source', 'acme');
  const sync = await run('sync', '--json');
  expect(sync.code).toBe(5);
  expect(JSON.parse(sync.out)).toMatchObject([{ source: 'acme', outcome: 'stopped', pages: 0 }]);
  expect(sync.err).toMatch(/acme: paused since 20.*; to go on: rosterd resume/);
  const { daemon } = await daemonIn(world.folder, env());
  await daemon.engine.sync.idle();
  const [source] = (
    (await (await fetch(`${daemon.consoleUrl}/status.json`)).json()) as {
      sources: { ticks: { trigger: string }[] }[];
    }
  ).sources;
  expect(source?.ticks[0]?.trigger).not.toBe('start');
  await daemon.close();
  expect(await run('resume', '--source', 'acme')).toMatchObject({ code: 0, out: 'resumed: acme\n', err: '' });
  expect((await run('sync')).code).toBe(0);
});

test('resume says what it looked for when nothing was paused, the state of a named source, and what to do next', async () => {
  const all = await run('resume');
  expect([all.code, all.out, all.err]).toEqual([
    0,
    'nothing to resume: acme is not paused\n',
    'What each source does: rosterd sources list\n',
  ]);
  const one = await run('resume', '--source', 'acme');
  expect([one.code, one.out, one.err]).toEqual([
    0,
    'acme: not paused; its state is fine\n',
    'More about it: rosterd sources show acme\n',
  ]);
  const writer = openRaw(join(world.folder, 'mirror.db'));
  onTestFinished(() => {
    writer.exec('UPDATE sources SET state = halted_from, halted_from = NULL, last_error = NULL');
    writer.close();
  });
  writer.exec("UPDATE sources SET halted_from = state, state = 'halted', last_error = 'token refused'");
  for (const args of [
    ['resume', '--source', 'acme'],
    ['sources', 'resume', 'acme'],
  ])
    expect((await run(...args)).out).toBe('acme: not paused; its state is halted: token refused\n');
});

test('pause and resume reject an unknown source', async () => {
  for (const command of ['pause', 'resume']) {
    const { code, err } = await run(command, '--source', 'nobody');
    expect([code, err]).toEqual([2, expect.stringContaining('no source is called "nobody"')]);
  }
});

test('on PostgreSQL, pause and resume hold for every daemon', async () => {
  const postgres: FilledPostgres = await filledPostgres();
  onTestFinished(() => postgres.close());
  expect((await postgres.run(['sync'])).code).toBe(0);
  expect((await postgres.run(['pause'])).code).toBe(0);
  expect((await postgres.run(['sync'])).code).toBe(5);
  expect((await postgres.run(['status'])).out).toContain('(paused)');
  expect((await postgres.run(['resume'])).code).toBe(0);
  expect((await postgres.run(['sync'])).code).toBe(0);
});
