import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { type RunningPlatform, startPlatform, user } from '../conformance/running-platform.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { tempFolder } from '../store/temp-folder.js';
import { placeMigrated } from '../support/migrated-file.js';
import { desk } from './connect-session.js';
import { rosterd } from './fake-io.js';

let world: RunningPlatform;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await startPlatform({ clock: systemClock });
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

function office() {
  const { write, io, folder } = desk();
  write('manager.token', user(world).liveToken, 0o600);
  write(
    'config.json',
    JSON.stringify({
      platform: { baseUrl: world.url, management: { token: { file: 'manager.token' } } },
      sources: [{ name: 'acme', token: world.ready.companies[0]?.token }],
    }),
  );
  const run = async (...args: string[]) => {
    const ended = await rosterd(['endpoints', ...args], io());
    expect(ended.out + ended.err).not.toContain(user(world).liveToken);
    return ended;
  };
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out);
  return { run, json, folder };
}

test('endpoints with a sandbox token reports that live keys are required', async () => {
  const { write, io } = desk();
  const config = { platform: { baseUrl: world.url, management: { token: user(world).token } }, sources: [] };
  write('config.json', JSON.stringify(config));
  const { code, err } = await rosterd(['endpoints', 'create', receiver.url, '--mode', 'test'], io());
  expect(code).toBe(3);
  expect(err).toMatch(/^error: .* answered 403 .*\nTry: a live token \(at_live_…\)/m);
});

test('endpoints commands create, list, test, update, rotate and delete an endpoint', async () => {
  const { run, json } = office();
  const created = await run('create', receiver.url, '--mode', 'test');
  expect(created.code).toBe(0);
  const id = /whe_\w+/.exec(created.out)?.[0] ?? '';
  const secret = /^secret: (whsec_\S+)$/m.exec(created.out)?.[1];
  expect(secret).toBeDefined();
  expect(created.err).toContain('receiver.secrets');

  expect((await json('list')).endpoints).toContainEqual(expect.objectContaining({ id, enabled: true }));
  const listed = await run('list');
  expect(listed.out).toContain(id);
  expect(listed.out).not.toContain('whsec_');
  expect(listed.err).toMatch(/1 of 10 allowed/);

  const sent = await run('test', id);
  expect([sent.code, sent.out]).toEqual([0, expect.stringContaining('investment.changed: delivered')]);

  const changed = await json('update', id, '--event', 'offering.closed', '--event', 'investment.changed');
  expect(changed.events.toSorted()).toEqual(['investment.changed', 'offering.closed']);

  const unsubscribed = await run('test', id, '--event', 'offering.opened');
  expect(unsubscribed.err).toMatch(/ not subscribed to that event.*\nTry: change what the platform refused;/);

  const rotated = await json('rotate', id);
  expect(rotated.secret).toMatch(/^whsec_/);
  expect(rotated.secret).not.toBe(secret);

  expect((await json('reenable', id)).enabled).toBe(true);
  expect((await json('show', id)).id).toBe(id);
  expect(await json('delete', id)).toEqual({ id, deleted: true });
  const gone = await run('show', id);
  expect([gone.code, gone.out]).toEqual([1, '']);
  expect((await run('test', id)).err).toMatch(/^Try: `rosterd endpoints list`/m);
});

test('--secret-file writes the secret to a file of mode 0600 and does not print it', async () => {
  const { run, folder } = office();
  const { code, out, err } = await run(
    'create',
    receiver.url,
    '--mode',
    'test',
    '--secret-file',
    'in/hook.secret',
  );
  expect(code).toBe(0);
  expect(out + err).not.toContain('whsec_');
  const file = join(folder, 'in/hook.secret');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const first = readFileSync(file, 'utf8').trim();
  expect(first).toMatch(/^whsec_\S+$/);
  const id = /whe_\w+/.exec(out)?.[0] ?? '';
  await run('rotate', id, '--secret-file', 'in/hook.secret');
  expect(readFileSync(file, 'utf8').trim()).not.toBe(first);
  await run('delete', id);
});

test('--secret-file of another endpoint stays when a second one is created', async () => {
  const { run, json, folder } = office();
  const file = join(folder, 'hook.secret');
  const first = await json('create', receiver.url, '--mode', 'test', '--secret-file', 'hook.secret');
  const secret = readFileSync(file, 'utf8');
  const second = await run('create', `${receiver.url}/2`, '--mode', 'test', '--secret-file', 'hook.secret');
  const id = /whe_\w+/.exec(second.out)?.[0] ?? '';
  expect(readFileSync(file, 'utf8')).toBe(secret);
  expect(readFileSync(`${file}.${id}`, 'utf8')).toMatch(/^whsec_\S+\n$/);
  expect(second.err).toContain(`The signing secret is in ${file}.${id}`);
  for (const one of [first.id, id]) await run('delete', one);
});

test('endpoints test exits 1 and prints the reason when the event is not delivered', async () => {
  const { run, json } = office();
  receiver.answer(500);
  const { id } = await json('create', receiver.url, '--mode', 'test');
  const { code, out } = await run('test', id);
  expect([code, out]).toEqual([1, expect.stringContaining('not delivered, answered 500')]);
  receiver.answer(200);
  await run('delete', id);
});

test('an unwritable secret file is reported before a secret is created', async () => {
  const { run, json, folder } = office();
  const before = (await json('list')).endpoints.length;
  mkdirSync(join(folder, 'data'));
  placeMigrated(join(folder, 'data/mirror.db'));
  const { code, err } = await run('create', receiver.url, '--secret-file', 'manager.token/in.secret');
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^error: --secret-file: .*\nTry: name a file in a folder/),
  ]);
  // A file would replace it.
  const pipe = join(tempFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const piped = await run('create', receiver.url, '--secret-file', pipe);
  expect([piped.code, piped.err]).toEqual([2, expect.stringContaining('pipe is not an ordinary file')]);
  for (const [file, is] of [
    ['config.json', 'the configuration'],
    ['manager.token', 'the secret of platform.management.token'],
    ['data/mirror.db', 'the mirror itself'],
    ['data/mirror.db-wal', 'the mirror itself'],
  ] as const)
    for (const words of [
      ['create', receiver.url],
      ['rotate', 'whe_1'],
    ]) {
      const own = await run(...words, '--secret-file', file);
      expect([own.code, own.err]).toEqual([
        2,
        expect.stringContaining(`${file} is ${is}\nTry: Name another`),
      ]);
    }
  expect((await json('list')).endpoints).toHaveLength(before);
});

test('endpoints without management access reports how to get it', async () => {
  const { io, write } = desk();
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url } }));
  const { code, err } = await rosterd(['endpoints', 'list'], io());
  expect([code, err]).toEqual([2, expect.stringContaining('rosterd connect --management')]);
});

test('endpoints with a refused token names the token to replace', async () => {
  const { io, write } = desk();
  write('manager.token', 'at_live_gone', 0o600);
  const management = { token: { file: 'manager.token' } };
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url, management } }));
  const { code, err } = await rosterd(['endpoints', 'list'], io());
  expect([code, err]).toEqual([3, expect.stringMatching(/^Try: replace the token \(.*manager\.token/m)]);
});

test('endpoints with a wrong secret of the application says to compare it', async () => {
  const { io, write } = desk();
  const signIn = {
    ...{ clientId: 'pk_test_1', clientSecret: null, accessToken: 'at_live_old', refreshToken: 'rt_old' },
    ...{ previousRefreshToken: null, expiresAt: '2020-01-01T00:00:00.000Z', scope: '' },
  };
  write('manager.json', JSON.stringify(signIn), 0o600);
  const credentials = { file: 'manager.json', clientId: 'pk_test_1', clientSecret: { env: 'WRONG' } };
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url, management: { credentials } } }));
  const { code, err } = await rosterd(['endpoints', 'list'], io({ env: { WRONG: 'sk_test_wrong' } }));
  expect([code, err]).toEqual([1, expect.stringMatching(/^Try: compare clientId and clientSecret/m)]);
});

test("endpoints with a source's own token lists the endpoints of its installation", async () => {
  const { json, run } = office();
  expect(await json('list', '--source', 'acme')).toMatchObject({ endpoints: [] });
  const { code, out, err } = await run('list', '--source', 'acme');
  expect([code, out]).toEqual([0, '']);
  expect(err).toContain('Try: `rosterd endpoints create https://your.host/webhooks --source acme`');
});
