import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { folder, load, minimal, problems } from './load-config.js';

const signsIn = (name: string, file: string, clientId = 'pk_live_1') => ({
  ...{ name, company: `co_${name}` },
  credentials: { file, clientId },
});

test.each([
  [
    'the ledger in a token file',
    {
      ...minimal,
      sources: [{ name: 'acme', token: { file: './acme.token' } }],
      forget: { ledger: 'acme.token' },
    },
    'sources[0].token.file',
    'is ./acme.token, the file of forget.ledger; expected another file',
  ],
  [
    'the mirror in the ledger',
    { ...minimal, database: 'sqlite:./mirror.db', forget: { ledger: 'mirror.db' } },
    'forget.ledger',
    'is mirror.db, the file of database; expected another file',
  ],
  [
    'a sign-in in the file of the endpoint',
    {
      ...minimal,
      sources: [signsIn('acme', 'credentials/endpoint.json')],
      receiver: { endpoint: { publicUrl: 'https://hooks.example.com/webhooks' } },
    },
    'receiver.endpoint.file',
    'is credentials/endpoint.json, the file of sources[0].credentials.file; expected another file',
  ],
  [
    'the sign-ins of two applications',
    { ...minimal, sources: [signsIn('a', 'crm.json'), signsIn('b', 'crm.json', 'pk_live_2')] },
    'sources[1].credentials.file',
    'is crm.json, the file of sources[0].credentials.file; expected another file',
  ],
  [
    'the ledger in the configuration',
    { ...minimal, forget: { ledger: './config.json' } },
    'forget.ledger',
    'is ./config.json, the configuration itself; expected another file',
  ],
  [
    'the state of the endpoint in the configuration',
    {
      ...minimal,
      receiver: { endpoint: { publicUrl: 'https://hooks.example.com/webhooks', file: 'config.json' } },
    },
    'receiver.endpoint.file',
    'is config.json, the configuration itself; expected another file',
  ],
])('files: a problem is %s', (_, content, path, message) => {
  expect(problems(content)).toContainEqual(expect.objectContaining({ path, message }));
});

test('files: a sign-in and a secret that are read in two places are not a problem', () => {
  const secret = { file: 'hook.secret' };
  const { config } = load({
    ...minimal,
    sources: [signsIn('a', 'crm.json'), signsIn('b', 'crm.json')],
    receiver: { secrets: [secret, secret] },
  });
  expect(config.sources).toHaveLength(2);
});

test('files: absolute and relative paths, and links, to one file are a problem, and one name in two folders is none', () => {
  const cwd = folder();
  symlinkSync('acme.token', join(cwd, 'link.jsonl'));
  const content = { ...minimal, sources: [{ name: 'acme', token: { file: 'acme.token' } }] };
  for (const ledger of [join(cwd, 'acme.token'), 'link.jsonl'])
    expect(problems({ ...content, forget: { ledger } }, { cwd })).toMatchObject([
      { path: 'sources[0].token.file' },
    ]);
  // A path in the environment starts from the folder of the command.
  const elsewhere = {
    cwd: folder(),
    file: join(cwd, 'config.json'),
    env: { ROSTERD_FORGET__LEDGER: 'acme.token' },
  };
  writeFileSync(elsewhere.file, JSON.stringify(content));
  expect(loadConfig(elsewhere).config.forget.ledger).toBe(join(elsewhere.cwd, 'acme.token'));
});

test('files: two spellings of one file are a problem once it is there, and two names of it are none', () => {
  const cwd = folder();
  mkdirSync(join(cwd, 'keys'));
  symlinkSync('keys', join(cwd, 'also'));
  const content = (ledger: string) => ({
    ...minimal,
    sources: [{ name: 'acme', token: { file: 'keys/acme.token' } }],
    forget: { ledger },
  });
  expect(load(content('also/acme.token'), { cwd }).config.sources).toHaveLength(1);
  writeFileSync(join(cwd, 'keys', 'acme.token'), 'at_test_1');
  expect(problems(content('also/acme.token'), { cwd })).toMatchObject([{ path: 'sources[0].token.file' }]);
  linkSync(join(cwd, 'keys', 'acme.token'), join(cwd, 'hard.token'));
  expect(load(content('hard.token'), { cwd }).config.sources).toHaveLength(1);
});
