import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { createLogger } from '../../src/daemon/logging.js';
import { systemClock } from '../../src/runtime/clock.js';
import { LogTail } from '../../src/runtime/log-tail.js';
import { sweep } from '../canaries/sweep.js';
import { testRandom } from '../support/chance.js';
import { collector, stopped } from './fake-io.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
const at = (name: string) => join(world.folder, name);
const secrets = {
  NOTICE: `whsec_${Buffer.from('canary-notice-signing-key-0001').toString('base64')}`,
  CONSOLE: 'canary-console-token-53Qx9vN2kL8mR4tY',
  ROSTERD_LOG__LEVEL: 'debug',
};
const person = { name: 'Canary Élodie Nameworth', email: 'canary.mailbox@nobody.example' };
const message = 'canary-message: good luck';
const env = () => ({ ...world.io().env, ...secrets, HOME: world.folder });

beforeAll(async () => {
  world = await filledMirror();
  await world.control('POST', '/investments', {
    company: world.company.id,
    set: { investor: person, message },
  });
  const config = JSON.parse(readFileSync(at('config.json'), 'utf8'));
  writeFileSync(
    at('config.json'),
    JSON.stringify({
      ...config,
      sync: { intervalSeconds: 3_600 },
      console: {
        listen: '127.0.0.1:0',
        auth: {
          user: 'canary-user',
          password: { command: ['sh', '-c', `echo ${secrets.CONSOLE}`] },
          proxy: {
            addresses: ['10.9.8.7'],
            header: 'X-Forwarded-User',
            users: [{ name: 'canary-proxied@nobody.example', role: 'operator' }],
          },
        },
      },
      notices: [
        {
          kind: 'http',
          name: 'crm',
          url: 'https://crm.example.com/canary-path-key',
          secret: { env: 'NOTICE' },
        },
        { kind: 'command', name: 'bell', command: ['/usr/bin/ring', '--token', 'canary-argument'] },
      ],
    }),
  );
  const { config: parsed } = loadConfig({ file: at('config.json'), cwd: world.folder, env: env() });
  const tail = new LogTail();
  const { stream } = collector(false, 80);
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    stream,
    color: false,
    clock: systemClock,
    tail,
  });
  const daemon = await startDaemon({
    config: parsed,
    clock: systemClock,
    random: testRandom(),
    logger,
    tail,
  });
  await daemon.engine.sync.idle();
  stopDaemon = () => daemon.close();
});

let stopDaemon: () => Promise<void> = async () => {};

afterAll(async () => {
  await stopDaemon();
  await world.close();
});

const canaries = () => [
  ...Object.entries({ ...person, message }).map(([what, value]) => ({ what: `identity: ${what}`, value })),
  { what: 'secret: token', value: world.company.token },
  { what: 'secret: notice', value: secrets.NOTICE },
  { what: 'secret: console', value: secrets.CONSOLE },
  ...['canary-user', 'canary-proxied', 'canary-path-key', 'canary-argument'].map((value) => ({
    what: value,
    value,
  })),
  { what: 'home folder', value: `${world.folder}/` },
];

test('a support bundle has every part, is private, and contains no identity and no secret', async () => {
  mkdirSync(at('out'));
  const { code, out, err } = await world.run(['support-bundle', 'out/bundle.json'], { env: env() });
  expect([code, out, err]).toEqual([
    0,
    `${at('out/bundle.json')}\n`,
    expect.stringContaining('Read it before you send it'),
  ]);
  expect(statSync(at('out/bundle.json')).mode & 0o777).toBe(0o600);
  expect(sweep(at('out'), canaries(), () => false)).toEqual([]);
  const bundle = JSON.parse(readFileSync(at('out/bundle.json'), 'utf8'));
  expect(bundle).toMatchObject({
    versions: { node: process.versions.node },
    environment: ['ROSTERD_LOG__LEVEL'],
    doctor: {
      checks: expect.arrayContaining([expect.objectContaining({ name: 'config', verdict: 'pass' })]),
    },
    status: { sources: [expect.objectContaining({ source: 'acme', state: 'following' })] },
    ticks: [expect.objectContaining({ source: 'acme', outcome: 'done' })],
    schema: {
      database: 'SQLite',
      migrations: expect.arrayContaining([expect.objectContaining({ number: 1 })]),
    },
  });
  const settings = new Map(
    bundle.configuration.map(({ path, value }: { path: string; value: unknown }) => [path, value]),
  );
  expect(settings.get('notices[0].url')).toBe('https://crm.example.com/…');
  expect(settings.get('notices[1].command[0]')).toBe('ring');
  expect(settings.get('console.auth.user')).toBe('…');
  expect(settings.get('console.auth.proxy.users[0].name')).toBe('…');
  expect(bundle.log).toEqual([
    { pid: process.pid, lines: expect.arrayContaining([expect.stringContaining('"following"')]) },
  ]);
});

test('the sweep of the bundle finds a secret that is put into it', () => {
  mkdirSync(at('leaky'));
  writeFileSync(at('leaky/bundle.json'), JSON.stringify({ value: secrets.CONSOLE, name: person.name }));
  expect(sweep(at('leaky'), canaries(), () => false).map(({ what }) => what)).toEqual([
    'identity: name',
    'secret: console',
  ]);
});

test('a support bundle is written with an invalid configuration too, and names its problems', async () => {
  const file = at('config.json');
  const before = readFileSync(file, 'utf8');
  onTestFinished(() => writeFileSync(file, before));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(before), log: { level: 'loud' } }));
  const { code } = await world.run(['support-bundle', 'broken.json'], { env: { ACME: 'x' } });
  expect(code).toBe(0);
  const bundle = JSON.parse(readFileSync(at('broken.json'), 'utf8'));
  expect(bundle.configuration).toEqual([expect.objectContaining({ path: 'log.level' })]);
});

test('a support bundle that a signal stops writes no file', async () => {
  expect(await world.run(['support-bundle', 'stopped.json'], { env: env(), ...stopped })).toMatchObject({
    code: 5,
  });
  expect(existsSync(at('stopped.json'))).toBe(false);
});

test('a support bundle replaces a file only with --force, and names itself by the time', async () => {
  writeFileSync(at('mine.json'), 'mine');
  const refused = await world.run(['support-bundle', 'mine.json'], { env: env() });
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('mine.json exists')]);
  const { out } = await world.run(['support-bundle'], { env: env() });
  expect(out).toMatch(/\/rosterd-support-\d{8}T\d{6}Z\.json\n$/);
});

test('a support bundle replaces neither a file of the mirror nor a pipe, even with --force', async () => {
  const before = statSync(at('mirror.db')).ino;
  const own = await world.run(['support-bundle', 'mirror.db', '--force'], { env: env() });
  expect([own.code, own.err]).toEqual([2, expect.stringContaining('is the mirror itself')]);
  writeFileSync(at('broken.json'), '{');
  const broken = ['support-bundle', 'mirror.db', '--force', '--config', 'broken.json'];
  const unknown = await world.run(broken, { env: env() });
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('mirror.db is a mirror\n')]);
  for (const words of [
    ['config.json', '--force'],
    ['broken.json', '--force', '--config', 'broken.json'],
  ]) {
    const { code, err } = await world.run(['support-bundle', ...words], { env: env() });
    expect([code, err]).toEqual([2, expect.stringContaining(`${words[0]} is the configuration\n`)]);
  }
  expect(statSync(at('mirror.db')).ino).toBe(before);
  execFileSync('mkfifo', [at('pipe')]);
  const pipe = await world.run(['support-bundle', 'pipe', '--force'], { env: env() });
  expect([pipe.code, pipe.err]).toEqual([2, expect.stringContaining('is not an ordinary file')]);
  expect(statSync(at('pipe')).isFIFO()).toBe(true);
});
