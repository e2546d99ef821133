import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { fakeIo, rosterd } from './fake-io.js';

let sandbox: Sandbox;
let token: string;
let company: string;
beforeAll(async () => {
  sandbox = await startSeededSandbox({ records: 20, companies: 1, limits: false });
  const [first] = sandbox.ready.companies;
  token = first?.token ?? '';
  company = first?.id ?? '';
});
afterAll(() => sandbox.close());

/** A terminal where these lines are typed ahead of the questions. */
function typing(lines: readonly string[]): PassThrough & { isTTY: true } {
  const stdin = Object.assign(new PassThrough(), { isTTY: true as const });
  stdin.end(lines.map((line) => `${line}\n`).join(''));
  return stdin;
}

const ioIn = (folder: string, more: Parameters<typeof fakeIo>[0] = {}) =>
  fakeIo({ cwd: folder, clock: systemClock, env: { ACME_TOKEN: token }, ...more });
const written = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as Record<string, unknown>;
/** The configuration names no ports, so the default ones may be in use by another program on this machine. */
const takenPort = /^fail {2}(?:console|receiver)\.port: 127\.0\.0\.1:878[78] is in use by another program$/;
const checked = (out: string) => {
  const failed = out.split('\n').filter((line) => line.startsWith('fail'));
  const fails = failed.filter((line) => !takenPort.test(line));
  return { fails, isPortTaken: fails.length < failed.length };
};
const flags = () => ['--base-url', sandbox.url, '--source', 'acme', '--token-env', 'ACME_TOKEN'];

describe('init from flags', () => {
  test('init writes a valid file without a secret and then runs doctor', async () => {
    const folder = tempFolder();
    const args = ['init', ...flags(), '--company', company, '--webhook-secret-file', 'hook.secret'];
    writeFileSync(join(folder, 'hook.secret'), 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0', { mode: 0o600 });
    const { code, out, err } = await rosterd(args, ioIn(folder));
    const { fails, isPortTaken } = checked(out);
    expect(out).toMatch(/^\d+ pass, \d+ warn, \d+ fail, \d+ skip$/m);
    expect(out).not.toMatch(/^(?:pass|skip)/m);
    expect(err).toContain(`wrote ${join(folder, 'config.json')}\n`);
    expect({ code, fails }).toEqual({ code: isPortTaken ? 1 : 0, fails: [] });
    expect(err).toContain(isPortTaken ? 'then try: rosterd doctor' : 'Try: rosterd sync');
    const config = written(folder);
    expect(config).toMatchObject({
      platform: { baseUrl: sandbox.url },
      database: 'sqlite:./data/mirror.db',
      sources: [{ name: 'acme', token: { env: 'ACME_TOKEN' }, company }],
      receiver: { secrets: [{ file: 'hook.secret' }] },
      identity: 'keep',
    });
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).not.toContain(token);
    expect(existsSync(resolve(folder, String(config.$schema)))).toBe(true);
    expect((await rosterd(['sync'], ioIn(folder))).code).toBe(0);
  });

  test('init refuses a second source for a company that the mirror already has', async () => {
    const folder = tempFolder();
    const as = (source: string, ...more: string[]) =>
      rosterd(
        [
          ...['init', '--base-url', sandbox.url, '--source', source, '--token-env', 'ACME_TOKEN'],
          ...['--company', company, '--no-doctor', ...more],
        ],
        ioIn(folder),
      );
    expect((await as('acme')).code).toBe(0);
    expect((await rosterd(['sync'], ioIn(folder))).code).toBe(0);
    const second = await as('acme-2', '--force');
    expect(second.code).toBe(2);
    expect(second.err).toContain(`${company} is already mirrored there, by source "acme"`);
    expect(written(folder)).toMatchObject({ sources: [{ name: 'acme' }] });
    expect((await as('acme', '--force')).code).toBe(0);
    expect((await as('acme-2', '--force', '--database', 'sqlite:./data/other.db')).code).toBe(0);
  });

  test('init does not use the database of the demo unless --database names it', async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'data'));
    for (const name of ['mirror.db', 'mirror.db.demo']) writeFileSync(join(folder, 'data', name), '');
    const args = ['init', ...flags(), '--no-doctor'];
    const { code, err } = await rosterd(args, ioIn(folder));
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('made-up data of the demo; your mirror goes to data/mirror-2.db'),
    ]);
    expect(written(folder).database).toBe('sqlite:./data/mirror-2.db');
    await rosterd([...args, '--force', '--database', 'sqlite:./data/mirror.db'], ioIn(folder));
    expect(written(folder).database).toBe('sqlite:./data/mirror.db');
    rmSync(join(folder, 'data/mirror.db'));
    await rosterd([...args, '--force'], ioIn(folder));
    expect(written(folder).database).toBe('sqlite:./data/mirror.db');
  });

  test('init exits with the result of doctor and keeps the file', async () => {
    const folder = tempFolder();
    const { code, out, err } = await rosterd(['init', ...flags()], ioIn(folder, { env: {} }));
    expect(code).toBe(1);
    expect(out).toContain('ACME_TOKEN is not set');
    expect(err).toContain('Fix what failed, then try: rosterd doctor');
    expect(written(folder).sources).toHaveLength(1);
  });

  test('init replaces a file only with --force', async () => {
    const folder = tempFolder();
    const file = join(folder, 'config.json');
    writeFileSync(file, 'mine');
    const refused = await rosterd(['init', ...flags()], ioIn(folder));
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('already exists\nTry: --force');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const forced = await rosterd(['init', ...flags(), '--force', '--no-doctor'], ioIn(folder));
    expect(forced).toMatchObject({ code: 0, out: '' });
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(written(folder).sources).toHaveLength(1);
  });

  test('init --force does not replace a mirror', async () => {
    const folder = tempFolder();
    const database = new Sqlite(join(folder, 'mirror.db'));
    database.pragma(`application_id = ${0x726f7374}`);
    database.exec('CREATE TABLE sources (name)');
    database.close();
    const words = ['init', ...flags(), '--force', '--no-doctor', '--config', 'mirror.db'];
    const { code, err } = await rosterd(words, ioIn(folder));
    expect([code, err]).toEqual([2, expect.stringContaining('mirror.db is a mirror\nTry: Name another')]);
  });

  test.skipIf(process.platform === 'win32')('init --force replaces no pipe or device', async () => {
    const folder = tempFolder();
    execFileSync('mkfifo', [join(folder, 'config.json')]);
    const { code, err } = await rosterd(['init', ...flags(), '--force', '--no-doctor'], ioIn(folder));
    expect([code, err]).toEqual([2, expect.stringContaining('config.json is not an ordinary file')]);
    expect(statSync(join(folder, 'config.json')).isFIFO()).toBe(true);
  });

  test('init with an application and no token prints how to sign in', async () => {
    const folder = tempFolder();
    const args = ['init', '--base-url', sandbox.url, '--client-id', 'pk_test_1', '--identity', 'drop'];
    const { code, err } = await rosterd(args, ioIn(folder));
    expect(code).toBe(0);
    expect(err).toContain('Try: rosterd connect --all --write');
    expect(written(folder)).toMatchObject({
      platform: { application: { clientId: 'pk_test_1' } },
      identity: 'drop',
    });
    const { config } = loadConfig({ cwd: folder, env: {}, draft: true });
    expect(config.sources).toEqual([]);
  });

  test.each([
    [[], 'flags are required: --base-url, --source, one of --token-env, --token-file and --client-id'],
    [['--base-url', 'https://a.example', '--source', 'a'], 'required: one of --token-env'],
    [['--base-url', 'http://a.example'], 'https:// URL'],
    [['--source', 'Not A Name'], 'a name such as acme'],
    [['--token-env', 'at_live_abcdefgh'], '--token-env is "at_live_…"\nTry: the NAME'],
    [['--token-env', 'A', '--token-file', 'b'], '--token-env and --token-file exclude each other'],
    [['--client-id', 'pk_test_1', '--source', 'a'], '--source cannot be combined with --client-id'],
    [['--database', 'mysql://x'], 'sqlite:PATH'],
    [['--database', 'postgres://app:1/2@db/mirror'], '--database is "postgres://…@db/mirror"\n'],
    [['--company', 'acme'], 'an id such as co_…'],
  ])('init %j is rejected with a message and writes no file', async (args, message) => {
    const folder = tempFolder();
    const { code, out, err } = await rosterd(['init', ...args], ioIn(folder));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
    expect(existsSync(join(folder, 'config.json'))).toBe(false);
  });

  test.each([
    [['--source', 'acme', '--token-file', './config.json'], '--token-file is ./config.json'],
    [
      ['--source', 'acme', '--token-env', 'ACME_TOKEN', '--webhook-secret-file', 'config.json'],
      '--webhook-secret-file is config.json',
    ],
    [
      ['--source', 'acme', '--token-env', 'ACME_TOKEN', '--database', 'sqlite:data/../config.json'],
      '--database is data/../config.json',
    ],
  ])('init %j, which names its own output, is refused', async (more, message) => {
    const folder = tempFolder();
    const args = ['init', '--base-url', sandbox.url, ...more];
    const { code, err } = await rosterd(args, ioIn(folder));
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(`${message}, the configuration`) });
    expect(existsSync(join(folder, 'config.json'))).toBe(false);
    writeFileSync(join(folder, 'config.json'), token);
    expect((await rosterd([...args, '--force'], ioIn(folder))).code).toBe(2);
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe(token);
  });

  test('init with a missing folder is a usage error', async () => {
    const folder = tempFolder();
    const { code, err } = await rosterd(['init', ...flags(), '--config', 'no/c.json'], ioIn(folder));
    expect(code).toBe(2);
    expect(err).toContain('cannot be written (ENOENT)');
  });
});

describe('init at a terminal', () => {
  test('init asks for missing values, repeats after an invalid answer, and takes the default for an empty one', async () => {
    const folder = tempFolder();
    const lines = ['api.example.com', sandbox.url, '1', '', token, 'ACME_TOKEN', '', '', 'drop', ''];
    const { code, out, err } = await rosterd(['init'], ioIn(folder, { stdin: typing(lines), tty: true }));
    const { fails, isPortTaken } = checked(out);
    expect({ code, fails }, out + err).toEqual({ code: isPortTaken ? 1 : 0, fails: [] });
    expect(err).toContain('Address of the API:   expected an https:// URL');
    expect(err).toContain('Name of the first source [main]: ');
    expect(err).toContain('Environment variable with the token [MAIN_TOKEN]:   expected the NAME');
    expect(err).not.toContain(token);
    expect(written(folder)).toMatchObject({
      sources: [{ name: 'main', token: { env: 'ACME_TOKEN' } }],
      identity: 'drop',
    });
    expect(written(folder)).not.toHaveProperty('receiver');
  });

  test('init offers a sign-in, and --no-input asks nothing', async () => {
    const folder = tempFolder();
    const stdin = typing([sandbox.url, '3', 'pk_test_9', '', '', '']);
    expect((await rosterd(['init'], ioIn(folder, { stdin, tty: true }))).code).toBe(0);
    expect(written(folder)).toMatchObject({ platform: { application: { clientId: 'pk_test_9' } } });
    const other = tempFolder();
    const asked = await rosterd(['init', '--no-input'], ioIn(other, { stdin: typing([]), tty: true }));
    expect(asked.code).toBe(2);
    expect(asked.err).toContain('these flags are required');
  });

  test('init writes no file when stdin ends, a signal arrives or no answer is valid', async () => {
    const folder = tempFolder();
    const run = (lines: readonly string[]) =>
      rosterd(['init'], ioIn(folder, { stdin: typing(lines), tty: true }));
    expect(await run([sandbox.url])).toMatchObject({ code: 2, out: '' });
    expect((await run(Array(9).fill('nonsense'))).err).toContain('no valid answer to "Address of the API"');
    const io = ioIn(folder, { stdin: Object.assign(new PassThrough(), { isTTY: true }), tty: true });
    const stopped = rosterd(['init'], io);
    await expect.poll(() => io.err()).toContain('Address of the API: ');
    io.signals.emit('SIGINT');
    expect((await stopped).code).toBe(5);
    expect(existsSync(join(folder, 'config.json'))).toBe(false);
  });

  if (existsSync('/usr/bin/script'))
    test('init asks its questions on a real terminal', async () => {
      const folder = tempFolder();
      const main = join(packageRoot, 'src', 'cli', 'main.ts');
      const tsx = join(packageRoot, 'node_modules', 'tsx', 'dist', 'loader.mjs');
      const command = `"${process.execPath}" --import "${tsx}" "${main}" init --no-doctor`;
      const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
        cwd: folder,
        env: { PATH: process.env.PATH, SHELL: '/bin/sh', NO_COLOR: '1' },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      let screen = '';
      const answers = [
        ['Address of the API: ', sandbox.url],
        ['One of 1, 2, 3 [1]: ', '2'],
        ['first source [main]: ', 'acme'],
        ['File with the token [credentials/acme.token]: ', ''],
        ['co_… [none]: ', ''],
        ['keep the mirror [sqlite:./data/mirror.db]: ', ''],
        ['keep or drop [keep]: ', ''],
        ['signing secret [none]: ', ''],
      ] as const;
      let next = 0;
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        screen += chunk;
        const [question = '', answer = ''] = answers[next] ?? [];
        if (question === '' || !screen.endsWith(question)) return;
        next += 1;
        child.stdin.write(`${answer}\r`);
      });
      const [code] = await once(child, 'close');
      expect(code, screen).toBe(0);
      expect(written(folder).sources).toEqual([{ name: 'acme', token: { file: 'credentials/acme.token' } }]);
    });
});
