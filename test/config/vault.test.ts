import { expect, test } from 'vitest';
import { redactedSettings } from '../../src/config/redacted.js';
import { secretFaults } from '../../src/config/unreadable-secrets.js';
import { load, minimal, problems } from './load-config.js';

const key = Buffer.alloc(32, 7);
const server = { ...minimal, database: 'postgres://rosterd@db.example.com/mirror' };
const signsIn = (name: string, clientId = 'pk_live_1') => ({
  name,
  credentials: { vault: name, clientId },
});

test('vault: without keys it is a folder, and the endpoint keeps its file', () => {
  const { config } = load(minimal);
  expect(config.vault.folder).toMatch(/credentials\/vault$/);
  expect(config.vault.keys).toEqual([]);
});

test('vault: a sign-in names an entry, and with keys the endpoint has one', () => {
  const endpoint = { publicUrl: 'https://hooks.example.com/webhooks', mode: 'test' };
  const content = {
    ...server,
    platform: {
      ...minimal.platform,
      management: { credentials: { vault: 'manager', clientId: 'pk_live_1' } },
    },
    sources: [{ name: 'acme', credentials: { vault: 'crm', clientId: 'pk_live_1' } }],
    vault: { folder: 'private', keys: [{ env: 'NEW_KEY' }, { file: 'old.key' }] },
    receiver: { endpoint },
  };
  const { config } = load(content);
  expect(config.sources[0]?.access).toMatchObject({ kind: 'credentials', at: { entry: 'sign-in/crm' } });
  expect(config.platform.management).toMatchObject({ at: { entry: 'sign-in/manager' } });
  expect(config.receiver?.endpoint).toMatchObject({ entry: 'endpoint/test' });
  expect(config.vault.keys.map(String)).toEqual([
    '(secret, from env NEW_KEY)',
    expect.stringMatching(/^\(secret, from file .*old\.key\)$/),
  ]);
  const files = load({
    ...content,
    sources: minimal.sources,
    platform: { ...minimal.platform, management: { token: { env: 'M' } } },
    vault: {},
  });
  expect(files.config.receiver?.endpoint).toMatchObject({ entry: null });
});

test.each([
  [
    'keys beside a SQLite file',
    { ...minimal, vault: { keys: [{ env: 'K' }] } },
    'vault.keys',
    /is only for a PostgreSQL database/,
  ],
  [
    'a sign-in in the vault of a server without keys',
    { ...server, sources: [signsIn('crm')] },
    'vault.keys',
    /is empty, and sources\[0\]\.credentials\.vault stores a sign-in in the vault of a PostgreSQL database/,
  ],
  [
    'a sign-in without a place',
    { ...minimal, sources: [{ name: 'acme', credentials: { clientId: 'pk_live_1' } }] },
    'sources[0].credentials.file',
    /is missing; expected file or vault/,
  ],
  [
    'a sign-in in two places',
    {
      ...minimal,
      sources: [{ name: 'acme', credentials: { file: 'a', vault: 'a', clientId: 'pk_live_1' } }],
    },
    'sources[0].credentials.vault',
    /cannot be combined with file/,
  ],
  [
    'one entry for two applications',
    {
      ...server,
      vault: { keys: [{ env: 'K' }] },
      sources: [
        { ...signsIn('crm'), name: 'a', company: 'co_1' },
        { ...signsIn('crm', 'pk_live_2'), name: 'b', company: 'co_2' },
      ],
    },
    'sources[1].credentials.vault',
    /is crm, the entry of sources\[0\]\.credentials\.vault for another application/,
  ],
  ['an entry name with a slash', { ...minimal, sources: [signsIn('../crm')] }, 'sources[0].name', /expected/],
])('vault: %s is a problem', (_, content, path, message) => {
  expect(problems(content)).toContainEqual(
    expect.objectContaining({ path, message: expect.stringMatching(message) }),
  );
});

test('vault: a key of another length is reported with its place and without its value', async () => {
  const env = { GOOD: key.toString('base64'), HEX: key.toString('hex'), SHORT: 'canary-short-key' };
  const withKey = (name: string) => load({ ...server, vault: { keys: [{ env: name }] } }, { env });
  for (const name of ['GOOD', 'HEX'])
    expect((await secretFaults(withKey(name).config)).map(({ message }) => message)).toEqual([
      'sources[0].token: the environment variable ACME_TOKEN is not set',
    ]);
  const [fault] = await secretFaults(withKey('SHORT').config);
  expect(fault).toMatchObject({
    code: 'usage',
    message: 'vault.keys[0]: is not a key (from env SHORT)',
    about: { hint: expect.stringContaining('openssl rand -base64 32') },
  });
  expect(JSON.stringify(fault)).not.toContain('canary');
});

test('vault: a key that is written out is refused without repeating it', () => {
  const written = key.toString('base64');
  const found = problems({ ...server, vault: { keys: [written] } });
  expect(found).toMatchObject([{ path: 'vault.keys[0]' }]);
  expect(JSON.stringify(found)).not.toContain(written);
});

test('vault: config show and the support bundle show where a key comes from, never the key', () => {
  const env = { OLD: key.toString('hex') };
  const rows = redactedSettings(
    load({ ...server, vault: { keys: [{ command: ['cat', 'new.key'] }, { env: 'OLD' }] } }, { env }),
  );
  expect(JSON.stringify(rows)).not.toContain(env.OLD);
  expect(rows.filter(({ path }) => path.startsWith('vault.keys')).map(({ value }) => value)).toEqual([
    '(secret, from command cat)',
    '(secret, from env OLD)',
  ]);
});
