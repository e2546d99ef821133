import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownUseOf } from '../../src/config/own-files.js';
import { folder, load } from './load-config.js';

test('own files: the configuration and each file that it names is known, also through a link', () => {
  const cwd = folder();
  const at = (file: string) => join(cwd, file);
  mkdirSync(at('credentials/vault'), { recursive: true });
  for (const file of ['hook.secret', 'acme.token', 'ca.pem', 'credentials/vault/entry.json'])
    writeFileSync(at(file), 'text', { mode: 0o600 });
  const clientId = 'pk_test_1';
  const { config } = load(
    {
      platform: {
        baseUrl: 'https://api.example.com',
        management: { credentials: { file: 'manager.json', clientId, clientSecret: { file: 'app.secret' } } },
      },
      sources: [{ name: 'acme', token: { file: 'acme.token' } }],
      receiver: { secrets: [{ file: 'hook.secret' }] },
    },
    { cwd },
  );
  symlinkSync(at('acme.token'), at('link'));
  symlinkSync(cwd, at('same'));
  const useOf = (file: string) => ownUseOf(at(file), config, at('config.json'));
  expect(
    Object.fromEntries(
      [
        ...['config.json', 'same/config.json', 'link', 'manager.json', 'same/manager.json', 'app.secret'],
        ...['hook.secret', 'credentials/forgotten.jsonl', 'credentials/vault/entry.json', 'out.csv'],
        ...['credentials/vault/new.json', 'credentials/vault', 'data/mirror.csv'],
      ].map((file) => [file, useOf(file)]),
    ),
  ).toEqual({
    'config.json': 'the configuration',
    'same/config.json': 'the configuration',
    link: 'the secret of sources[0].token',
    'manager.json': 'a stored sign-in',
    'same/manager.json': 'a stored sign-in',
    'app.secret': 'the secret of platform.management.credentials.clientSecret',
    'hook.secret': 'the secret of receiver.secrets[0]',
    'credentials/forgotten.jsonl': 'the ledger of forgotten people',
    'credentials/vault/entry.json': 'in the vault, the folder of stored secrets',
    'out.csv': null,
    'credentials/vault/new.json': null,
    'credentials/vault': null,
    'data/mirror.csv': null,
  });
  expect(ownUseOf(at('acme.token'), null, at('config.json'))).toBeNull();
});
