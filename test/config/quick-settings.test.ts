import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formats } from '../../src/config/formats.js';
import { configJsonSchema } from '../../src/config/json-schema.js';
import { withValue } from '../../src/config/overrides.js';
import type { Path } from '../../src/config/path.js';
import { quickLoadConfig } from '../../src/config/quick-load.js';
import { quickSettings } from '../../src/config/quick-settings.js';
import type { SchemaNode } from '../../src/config/schema-tree.js';
import { settingsSchema } from '../../src/config/settings.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import fc from '../support/property.js';
import { folder, load, minimal } from './load-config.js';

const schema = configJsonSchema();

/** Every section, and every form of a secret. */
const complete = {
  platform: {
    baseUrl: 'https://api.example.com',
    headerPrefix: 'Service',
    requestsPerHour: 500,
    timeouts: { connectSeconds: 0.5 },
    application: {
      clientId: 'pk_live_1',
      clientSecret: { file: 'secret' },
      redirectUri: 'http://127.0.0.1/cb',
    },
    management: { token: { command: ['pass', 'show'] } },
  },
  database: 'postgres://rosterd@db.example.com/mirror',
  databasePassword: { env: 'DB_PASSWORD' },
  sources: [
    {
      name: 'acme',
      token: { env: 'ACME' },
      company: 'co_1',
      installation: 'inst_1',
      filters: { offeringId: 'ofr_1' },
    },
    { name: 'umbrella', credentials: { file: 'u.json', clientId: 'pk_1' }, filters: { investorId: 'usr_1' } },
    { name: 'sandbox', token: 'at_test_abc', company: 'co_2' },
    {
      follow: 'installations',
      rule: 'crm',
      token: { env: 'MANAGER' },
      name: 'crm-{slug}',
      scopes: ['read:investments'],
      afterRevoke: { keepDays: 0 },
      except: ['inst_2'],
      overrides: { inst_3: { name: 'three' } },
    },
  ],
  sync: { intervalSeconds: 30, brake: { share: 0.5 } },
  receiver: {
    listen: '[::1]:8787',
    path: '/hooks/a',
    secrets: [{ env: 'HOOK' }],
    endpoint: {
      publicUrl: 'https://hooks.example.com/hooks/a',
      events: ['investment.changed'],
      rotateDays: null,
    },
  },
  console: { hosts: ['roster.example.com'], auth: { user: 'ann', password: { env: 'PASSWORD' } } },
  identity: 'drop',
  history: { keepDays: 30 },
  notices: [
    {
      kind: 'slack',
      name: 'team',
      webhookUrl: { env: 'SLACK' },
      rules: { kinds: ['added'], minCommittedCents: 5 },
    },
    {
      kind: 'http',
      name: 'crm',
      url: 'http://localhost:9/x',
      secret: { file: 'crm' },
      rules: { sources: ['acme'] },
    },
    { kind: 'command', name: 'log', command: ['tee', '-a', 'log'] },
  ],
  log: { level: 'debug', format: 'json' },
};

/** Returns every path of a value: of its objects, lists and scalars. */
function pathsIn(value: unknown, below: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [below];
  return [
    below,
    ...Object.entries(value).flatMap(([key, inner]) => {
      const step = Array.isArray(value) ? Number(key) : key;
      return pathsIn(inner, [...below, step]);
    }),
  ];
}

const odd: readonly unknown[] = [
  ...[
    undefined,
    null,
    '',
    ' ',
    'x',
    'acme',
    'ACME',
    'at_test_x',
    'sk_live_0123456789',
    'http://example.com',
    '/healthz',
  ],
  ...[
    'sqlite:a.db',
    'sqlite://a',
    'postgres://h',
    'postgres://u:p@h/d?password=x',
    '127.0.0.1:99999',
    ':1',
    'é\u0000',
  ],
  ...[
    0,
    1,
    -1,
    0.5,
    12,
    1e9,
    2 ** 53,
    Number.NaN,
    true,
    false,
    [],
    {},
    [null],
    ['x'],
    { env: 'A' },
    { env: 'at_test_0123456789abcdef' },
  ],
  ...[
    { file: '' },
    { command: [] },
    { env: 'A', file: 'b' },
    { kind: 'slack' },
    JSON.parse('{"__proto__":{"a":1}}'),
  ],
];

/** Compares with the full check. Returns which of them accepts it: both, the full one alone, or none. */
function accepts(input: unknown): 'both' | 'full' | 'none' {
  const full = settingsSchema.safeParse(input);
  const quick = quickSettings(schema, input);
  if (quick === null) return full.success ? 'full' : 'none';
  if (!full.success) throw new Error(`accepted: ${JSON.stringify(input)}`);
  // Also in the same order, in which `config show` prints them.
  if (JSON.stringify(quick) !== JSON.stringify(full.data)) expect(quick).toEqual(full.data);
  return 'both';
}

test('quick settings: a complete, a minimal and the example configuration need no full check', () => {
  expect(accepts(complete)).toBe('both');
  expect(accepts(minimal)).toBe('both');
  expect(accepts(JSON.parse(readFileSync(join(packageRoot, 'config.example.json'), 'utf8')))).toBe('both');
});

test('quick settings: with any one value replaced, what is accepted is what the full check returns', () => {
  const counts = { both: 0, full: 0, none: 0 };
  for (const path of pathsIn(complete))
    for (const value of odd) counts[accepts(withValue(complete, path, value))] += 1;
  expect(counts.both).toBeGreaterThan(200);
  expect(counts.full).toBe(0);
});

test('quick settings: with any two values replaced or removed, what is accepted is what the full check returns', () => {
  const change = fc.tuple(fc.constantFrom(...pathsIn(complete)), fc.constantFrom(...odd));
  fc.assert(
    fc.property(change, change, ([one, first], [other, second]) => {
      accepts(withValue(withValue(complete, one, first), other, second));
    }),
    { numRuns: 200 },
  );
});

function nodesIn(node: SchemaNode): readonly SchemaNode[] {
  const inner = [
    ...Object.values(node.properties ?? {}),
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.items === undefined ? [] : [node.items]),
    ...(typeof node.additionalProperties === 'object' ? [node.additionalProperties] : []),
    ...(node.propertyNames === undefined ? [] : [node.propertyNames]),
  ];
  return [node, ...inner.flatMap(nodesIn)];
}

test('quick settings: every pattern of the schema compiles, and every format has a check', () => {
  const nodes = nodesIn(schema);
  for (const { pattern } of nodes) if (pattern !== undefined) new RegExp(pattern, 'u');
  const used = new Set(nodes.flatMap(({ format }) => format ?? []));
  expect([...used].sort()).toEqual(Object.keys(formats).sort());
});

test('quick load: returns what the full load returns, with origins and warnings', async () => {
  const cwd = folder();
  const env = { ROSTERD_SYNC__PER_PAGE: '50', ROSTERD_SINC: '1' };
  const flags = [{ path: 'log.level', text: 'warn', flag: '--log-level' }];
  const content = { ...minimal, sources: [{ name: 'acme', token: 'at_test_abc' }], database: 'sqlite:m.db' };
  const full = load(content, { cwd, env, flags });
  const quick = await quickLoadConfig({ cwd, env, flags });
  expect(quick.settings).toEqual(full.settings);
  expect(JSON.stringify(quick.config)).toBe(JSON.stringify(full.config));
  expect([quick.file, quick.warnings]).toEqual([full.file, full.warnings]);
  expect(quick.warnings.length).toBe(2);
  const paths: readonly Path[] = [['sync', 'perPage'], ['log', 'level'], ['database'], ['identity']];
  expect(paths.map(quick.originOf)).toEqual(paths.map(full.originOf));
});

test('quick load: reports every problem as the full load does', async () => {
  const cwd = folder();
  const contents: readonly unknown[] = [
    { ...minimal, snyc: {} },
    { ...minimal, sources: [...minimal.sources, ...minimal.sources] },
    { ...minimal, platform: { ...minimal.platform, ca: 'config.json' } },
    '{',
  ];
  for (const content of contents) {
    let wanted = '';
    try {
      load(content, { cwd });
    } catch (error) {
      wanted = String(error);
    }
    expect(wanted).not.toBe('');
    await expect(quickLoadConfig({ cwd, env: {} }).catch(String)).resolves.toBe(wanted);
  }
  await expect(quickLoadConfig({ cwd: folder(), env: {} })).rejects.toThrow('there is no configuration');
  expect(
    (
      await quickLoadConfig({
        cwd: folder(),
        env: { ROSTERD_PLATFORM__BASE_URL: 'https://a.example' },
        draft: true,
      })
    ).settings.sources,
  ).toEqual([]);
});

test('the quick check and the full one read the configuration once, which may be a pipe', async () => {
  const cwd = folder();
  const file = join(cwd, 'config.json');
  execFileSync('mkfifo', [file]);
  const kept = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  writeFileSync(file, JSON.stringify({ ...minimal, identity: 'sell' }));
  await expect(quickLoadConfig({ cwd, env: {} })).rejects.toThrow('identity');
  closeSync(kept);
});
