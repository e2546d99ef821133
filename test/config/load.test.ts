import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { redactedSettings } from '../../src/config/redacted.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { folder, load, minimal, problems } from './load-config.js';

test('missing options take their defaults', () => {
  const { config } = load(minimal);
  expect(config).toMatchObject({
    platform: {
      version: '2026-10-15',
      headers: { version: 'Service-Version' },
      requestTimeoutMillis: 60_000,
    },
    sources: [{ name: 'acme', company: null, filters: {} }],
    sync: { intervalSeconds: 60, perPage: 100, concurrency: 4, brake: { share: 0.2, rows: 50 } },
    receiver: null,
    console: {
      listen: { host: '127.0.0.1', port: 8788 },
      hosts: [],
      auth: null,
      auditKeepDays: 365,
      metricsSources: 200,
    },
    identity: 'keep',
    history: { keepDays: null },
    notices: [],
    log: { level: 'info', format: 'auto' },
  });
});

test('a loaded configuration is frozen', () => {
  const { config } = load(minimal);
  expect(() => Object.assign(config.sync, { perPage: 1 })).toThrow(TypeError);
  expect(() => Object.assign(config.sources, { 0: null })).toThrow(TypeError);
});

test('the example file is valid and shows every section', () => {
  const text = readFileSync(join(packageRoot, 'config.example.json'), 'utf8');
  const { config, warnings } = load(text);
  expect(config.receiver).toMatchObject({ listen: { host: '127.0.0.1', port: 8787 }, path: '/webhooks' });
  expect(config.sources[0]).toMatchObject({
    company: 'co_EXAMPLE',
    filters: { companyId: 'co_EXAMPLE' },
  });
  expect(warnings).toEqual([]);
});

test('relative paths in the file start at its folder, those from the environment at the working directory', () => {
  const cwd = folder();
  mkdirSync(join(cwd, 'etc'));
  const file = join(cwd, 'etc', 'rosterd.json');
  writeFileSync(file, JSON.stringify({ ...minimal, database: 'sqlite:./mirror.db' }));
  const databaseOf = (request: Parameters<typeof loadConfig>[0]) => loadConfig(request).config.database;
  expect(databaseOf({ file: 'etc/rosterd.json', cwd, env: {} })).toEqual({
    kind: 'sqlite',
    file: join(cwd, 'etc', 'mirror.db'),
  });
  const env = { ROSTERD_DATABASE: 'sqlite:./other.db' };
  expect(databaseOf({ file, cwd, env })).toEqual({ kind: 'sqlite', file: join(cwd, 'other.db') });
});

test('the environment overrides the file, a flag overrides both, and each value has its origin', () => {
  const content = { ...minimal, sync: { intervalSeconds: 10, perPage: 20, concurrency: 2 } };
  const env = { ROSTERD_SYNC__INTERVAL_SECONDS: '30', ROSTERD_SYNC__PER_PAGE: '40' };
  const flags = [{ path: 'sync.perPage', text: '50', flag: '--set' }];
  const { config, originOf } = load(content, { env, flags });
  expect(config.sync).toMatchObject({ intervalSeconds: 30, perPage: 50, concurrency: 2 });
  expect(originOf(['sync', 'intervalSeconds'])).toBe('env ROSTERD_SYNC__INTERVAL_SECONDS');
  expect(originOf(['sync', 'perPage'])).toBe('flag --set');
  expect(originOf(['sync', 'concurrency'])).toBe('file');
  expect(originOf(['sync', 'brake', 'rows'])).toBe('default');
});

test('list items, objects as JSON and null can come from the environment', () => {
  const env = {
    ROSTERD_SOURCES__0__NAME: 'beta',
    ROSTERD_SOURCES__0__TOKEN: '{"env":"OTHER"}',
    ROSTERD_SYNC__BRAKE: '{"share":0.5}',
    ROSTERD_CONSOLE: 'null',
    ROSTERD_HISTORY__KEEP_DAYS: '7',
  };
  const { config, originOf } = load(minimal, { env });
  expect(config.sources[0]?.name).toBe('beta');
  expect(inspect(config.sources[0]?.access)).toContain('from env OTHER');
  expect(config.sync.brake).toEqual({ share: 0.5, rows: 50 });
  expect(originOf(['sync', 'brake', 'rows'])).toBe('default');
  expect(config.console).toBeNull();
  expect(config.history.keepDays).toBe(7);
});

test('a container can set all options in the environment without a file', () => {
  const env = {
    ROSTERD_PLATFORM__BASE_URL: 'https://api.example.com',
    ROSTERD_SOURCES: '[{"name":"acme","token":{"env":"T"}}]',
  };
  const loaded = loadConfig({ cwd: folder(), env });
  expect(loaded.file).toBeNull();
  expect(loaded.config.sources[0]?.name).toBe('acme');
});

test('an unknown ROSTERD_ name is reported with the closest one, and does not stop the daemon', () => {
  const { warnings } = load(minimal, {
    env: { ROSTERD_SYNC__INTERVAL_SECOND: '5', ROSTERD_PORT: 'tcp://x' },
  });
  expect(warnings).toEqual([
    'env ROSTERD_PORT sets no option',
    'env ROSTERD_SYNC__INTERVAL_SECOND sets no option; did you mean ROSTERD_SYNC__INTERVAL_SECONDS?',
  ]);
});

test('a ROSTERD_ variable that a secret refers to is not reported as unknown', () => {
  const content = { ...minimal, sources: [{ name: 'acme', token: { env: 'ROSTERD_TOKEN' } }] };
  expect(load(content, { env: { ROSTERD_TOKEN: 'at_live_x' } }).warnings).toEqual([]);
});

test('the error for a missing file names the folder, --config, rosterd init and rosterd demo', () => {
  const cwd = folder();
  expect(() => loadConfig({ cwd, env: {} })).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `there is no configuration at ${join(cwd, 'config.json')}`,
      about: { hint: expect.stringMatching(/--config FILE.*rosterd init.*rosterd demo/) },
    }),
  );
});

test('a JSON syntax error is reported with its line and column', () => {
  expect(problems('{\n  "platform": {},\n  "sources": [],\n}')).toEqual([
    { path: '', where: 'config.json:4:1', message: 'remove the comma before }' },
  ]);
});

test('company sets the company filter', () => {
  const { config } = load({ ...minimal, sources: [{ ...minimal.sources[0], company: 'co_1' }] });
  expect(config.sources[0]).toMatchObject({ company: 'co_1', filters: { companyId: 'co_1' } });
});

test('an inline sandbox token is accepted with a warning', async () => {
  const { config, warnings } = load({ ...minimal, sources: [{ name: 'acme', token: 'at_test_abc' }] });
  const access = config.sources[0]?.access;
  expect(access?.kind === 'token' && (await access.token.reveal())).toBe('at_test_abc');
  expect(warnings).toEqual([expect.stringContaining('sources[0].token contains the token itself')]);
});

test.each([
  ['another address', { listen: '0.0.0.0:8788' }, /console\.auth.*0\.0\.0\.0:8788/s],
  ['a name', { hosts: ['roster.example'] }, /console\.auth.*roster\.example/s],
  ['a user alone', { auth: { user: 'ops' } }, /console\.auth\.password: is missing/],
  ['a password alone', { auth: { password: { env: 'P' } } }, /console\.auth\.user: is missing/],
  [
    'both ways',
    { auth: { token: { env: 'T' }, user: 'ops' } },
    /console\.auth\.user: cannot be combined with token/,
  ],
  [
    'a token written out',
    { auth: { token: 'hunter2hunter2' } },
    /console\.auth\.token.*instead of the secret/,
  ],
])('a console that other machines can reach needs a complete sign-in: %s', (_what, console, complaint) => {
  expect(() => load({ ...minimal, console })).toThrow(complaint);
});

test('a console with a sign-in may be reachable from other machines', () => {
  const listen = '0.0.0.0:8788';
  const byToken = load({ ...minimal, console: { listen, auth: { token: { env: 'T' } } } }).config.console;
  expect(byToken).toMatchObject({
    hosts: [],
    auth: { tokens: [{ name: null, role: 'analyst' }], basic: null, proxy: null },
  });
  expect(JSON.stringify(byToken)).toContain('(secret, from env T)');
  const hosts = ['roster.example'];
  const auth = { user: 'ops', password: { env: 'P' } };
  const byUser = load({ ...minimal, console: { listen, hosts, auth } }).config.console;
  expect(byUser).toMatchObject({ hosts, auth: { tokens: [], basic: { user: 'ops' } } });
});

const people = {
  tokens: [
    { name: 'ana', role: 'analyst', token: { env: 'ANA' } },
    { name: 'oleg', role: 'operator', token: { env: 'OLEG' } },
  ],
  proxy: {
    addresses: ['10.0.0.5', '2001:db8::/32'],
    header: 'X-Forwarded-User',
    users: [{ name: 'oleg@example.com', role: 'operator' }],
  },
} as const;

test('several tokens with roles, and a proxy, are a sign-in', () => {
  const auth = { token: { env: 'T' }, ...people };
  const { config } = load({ ...minimal, console: { listen: '0.0.0.0:8788', auth } });
  expect(config.console?.auth).toMatchObject({
    tokens: [
      { name: null, role: 'analyst' },
      { name: 'ana', role: 'analyst' },
      { name: 'oleg', role: 'operator' },
    ],
    basic: null,
    proxy: { ...people.proxy, role: 'viewer' },
  });
  const proxyOnly = { proxy: people.proxy };
  expect(load({ ...minimal, console: { auth: proxyOnly } }).config.console?.auth?.tokens).toEqual([]);
  expect(config.console?.auth?.tokens[1]?.token.name).toBe('console.auth.tokens[0].token');
});

test.each([
  ['a repeated name', { tokens: [people.tokens[0], people.tokens[0]] }, /tokens\[1\]\.name.*is ana/],
  ['an unknown role', { tokens: [{ ...people.tokens[0], role: 'admin' }] }, /role.*viewer/],
  [
    'a token written out',
    { tokens: [{ ...people.tokens[0], token: 'abc' }] },
    /instead of the secret itself/,
  ],
  ['a user beside tokens', { tokens: people.tokens, user: 'ops' }, /cannot be combined with tokens/],
  ['no address of the proxy', { proxy: { ...people.proxy, addresses: [] } }, /addresses/],
  ['every address', { proxy: { ...people.proxy, addresses: ['0.0.0.0/0'] } }, /an IP address such as/],
  ['a host name', { proxy: { ...people.proxy, addresses: ['proxy.local'] } }, /an IP address such as/],
  ['a header of HTTP', { proxy: { ...people.proxy, header: 'Cookie' } }, /a header that only the proxy sets/],
  [
    'a user listed twice',
    { proxy: { ...people.proxy, users: [people.proxy.users[0], people.proxy.users[0]] } },
    /users\[1\]\.name/,
  ],
  ['nothing', { tokens: [] }, /console\.auth\.user/],
])('a sign-in with %s is refused', (_what, auth, complaint) => {
  expect(() => load({ ...minimal, console: { auth } })).toThrow(complaint);
});

test('a support bundle has no names of users of the console', () => {
  const rows = redactedSettings(load({ ...minimal, console: { auth: people } }));
  expect(
    rows
      .filter(({ path }) => path.endsWith('].name') && path.startsWith('console'))
      .map(({ value }) => value),
  ).toEqual(['…', '…', '…']);
  expect(JSON.stringify(rows)).not.toMatch(/oleg|ana"/);
});

test('a scheduled export of people needs exports.identity, and by default nothing is written on a schedule', () => {
  const { exports, lake } = load(minimal).config;
  expect(exports).toMatchObject({ everyMillis: null, tables: ['investments'], identity: false });
  expect(lake).toMatchObject({ everyMillis: null, keep: 100, identity: false });
  const asked = { every: '6h', tables: ['rounds', 'roster'] };
  expect(() => load({ ...minimal, exports: asked })).toThrow(/exports\.tables\[1\].*names people/s);
  const named = load({ ...minimal, exports: { ...asked, identity: true, folder: 'out' } }).config.exports;
  expect(named).toMatchObject({ everyMillis: 21_600_000, identity: true });
  expect(named.folder).toMatch(/^\/.*\/out$/);
});

test('a public client has no secret, and an endpoint has usable defaults', () => {
  const { config } = load({
    platform: { ...minimal.platform, management: { credentials: { file: 'm.json', clientId: 'pk_live_x' } } },
    sources: [{ name: 'mine', credentials: { file: 'mine.json', clientId: 'pk_test_x' } }],
    receiver: { endpoint: { publicUrl: 'https://hooks.example.com/webhooks' } },
  });
  expect(config.platform.management).toMatchObject({ kind: 'credentials', clientSecret: null });
  expect(config.sources[0]?.access).toMatchObject({ kind: 'credentials', clientSecret: null });
  expect(config.receiver?.endpoint).toMatchObject({
    mode: 'live',
    events: [
      ...[
        'investment.changed',
        'offering.opened',
        'offering.closing',
        'offering.closed',
        'offering.canceled',
      ],
    ],
    checkMillis: 300_000,
    rotateMillis: 90 * 86_400_000,
    file: expect.stringMatching(/^\/.*credentials\/endpoint\.json$/),
  });
});

test('a draft configuration may lack only what connect adds, and its file', () => {
  const env = { ROSTERD_PLATFORM__BASE_URL: 'https://api.example.com' };
  const managed = { ...env, ROSTERD_RECEIVER__ENDPOINT__PUBLIC_URL: 'https://hooks.example.com/webhooks' };
  expect(loadConfig({ cwd: folder(), env: managed, draft: true }).config.platform.management).toBe(null);
  expect(loadConfig({ cwd: folder(), env, draft: true }).config.sources).toEqual([]);
  expect(() => loadConfig({ cwd: folder(), env })).toThrow('there is no configuration');
  for (const more of [{}, { ROSTERD_PLATFORM__HEADER_PREFIX: 'Acme' }]) {
    expect(() => loadConfig({ cwd: folder(), env: more, draft: true })).toThrow('there is no configuration');
  }
});

test('relative paths start at the folder of the file, and at the current folder for one that is piped in', () => {
  const cwd = folder();
  const text = JSON.stringify({ ...minimal, database: 'sqlite:./data/mirror.db' });
  const ledgerOf = (file: string) =>
    loadConfig({ file, cwd, env: {} }, { file, shownAs: file, content: text }).config.forget.ledger;
  expect(ledgerOf('/etc/rosterd/config.json')).toBe('/etc/rosterd/credentials/forgotten.jsonl');
  expect(ledgerOf('/dev/shm/config.json')).toBe('/dev/shm/credentials/forgotten.jsonl');
  for (const file of ['/dev/stdin', '/dev/fd/63', '/proc/self/fd/0'])
    expect([file, ledgerOf(file)]).toEqual([file, join(cwd, 'credentials/forgotten.jsonl')]);
});
