import { expect, test } from 'vitest';
import { isWebAddress } from '../../src/config/answer-checks.js';
import { type ConfigInput, configFromObject } from '../../src/config/from-object.js';
import { load, minimal, problems } from './load-config.js';

const source = minimal.sources[0];

test('all problems are reported at once, each with its position, its value and what is expected', () => {
  const found = problems({
    platform: { baseUrl: 'api.example.com' },
    sources: [{ name: 'Acme Inc', token: { env: 'T' } }],
    sync: { intervalSecond: 5, perPage: 500, concurrency: 1.5 },
    log: { level: 'inof' },
  });
  expect(found).toEqual([
    expect.objectContaining({
      path: 'platform.baseUrl',
      where: 'config.json:3:16',
      message: expect.stringMatching(/^is "api\.example\.com"; expected an https:\/\/ URL/),
    }),
    expect.objectContaining({ path: 'sources[0].name', message: expect.stringMatching(/^is "Acme Inc"/) }),
    expect.objectContaining({ path: 'sync.perPage', message: 'is 500; expected at most 100' }),
    expect.objectContaining({ path: 'sync.concurrency', message: 'is 1.5; expected a whole number' }),
    expect.objectContaining({
      path: 'sync.intervalSecond',
      where: 'config.json:14:23',
      message: 'is not an option',
      hint: 'did you mean intervalSeconds?',
    }),
    expect.objectContaining({
      path: 'log.level',
      message: 'is "inof"; expected "debug" or "info" or "warn" or "error"',
      hint: 'did you mean info?',
    }),
  ]);
});

test.each([
  [1e23, 'is 1e+23; expected at most 86400'],
  [-1e23, 'is -1e+23; expected at least 1'],
])('a number beyond 2^53 is one problem: %d', (intervalSeconds, message) => {
  expect(problems({ ...minimal, sync: { intervalSeconds } })).toEqual([
    expect.objectContaining({ path: 'sync.intervalSeconds', message }),
  ]);
});

test.each([
  ['empty', '', 'is ""; expected list of objects'],
  ['long', 'a-text-of-more-than-ten', 'is "a-text-of-more-than-ten"; expected list of objects'],
])('a text where a list belongs is one problem, whatever its length: %s', (_, sources, message) => {
  expect(problems({ ...minimal, sources })).toEqual([expect.objectContaining({ path: 'sources', message })]);
});

test('a secret where a list of secrets belongs is one problem', () => {
  expect(problems({ ...minimal, receiver: { secrets: 'whsec_of-more-than-ten' } })).toEqual([
    expect.objectContaining({
      path: 'receiver.secrets',
      message: 'must not contain the secret itself; expected list of secrets',
    }),
  ]);
});

test.each(['constructor', 'toString', '__proto__'])('a key that every object has is no option: %s', (key) => {
  const text = JSON.stringify(minimal).replace(/}$/, `,"${key}":{"x":1}}`);
  expect(problems(text)).toEqual([
    expect.objectContaining({
      path: key,
      message: 'is not an option',
      hint: expect.stringMatching(/^options here: \$schema, platform, /),
    }),
  ]);
});

test('violations of rules over several values are reported together with invalid values', () => {
  const found = problems({
    platform: { baseUrl: 'api.example.com' },
    databse: 'sqlite:./x.db',
    log: { level: 'inof' },
    sources: [
      { ...source, company: 'acme' },
      source,
      { name: 'beta', company: 'co_1', filters: { companyId: 'co_2' } },
    ],
    receiver: { listen: '0.0.0.0:8788', endpoint: { publicUrl: 'https://hooks.example.com/webhooks' } },
    notices: [
      { kind: 'slcak', name: 'n' },
      { kind: 'command', name: 'n', command: ['true'], rules: { sources: ['acme', 'gamma'] } },
    ],
  });
  expect(found.map(({ path }) => path).sort()).toEqual([
    'console.listen',
    'databse',
    'log.level',
    'notices[0].kind',
    'notices[1].name',
    'notices[1].rules.sources[1]',
    'platform.baseUrl',
    'platform.management',
    'sources[0].company',
    'sources[1].name',
    'sources[2].filters.companyId',
    'sources[2].token',
  ]);
});

test('no problem is reported about the stub of an invalid setting', () => {
  const told = (content: object) => problems(content).map(({ path }) => path);
  const notice = { kind: 'command', name: 'n', command: ['true'], rules: { sources: ['acme'] } };
  const receiver = { endpoint: { publicUrl: 'https://hooks.example.com/webhooks' } };
  expect(told({ ...minimal, sources: 'acme', notices: [notice] })).toEqual(['sources']);
  expect(told({ ...minimal, sources: [{ ...source, name: 'Acme Inc' }], notices: [notice] })).toEqual([
    'sources[0].name',
  ]);
  expect(told({ sources: minimal.sources, platfrom: minimal.platform, receiver })).toEqual(['platfrom']);
  expect(
    told({ ...minimal, platform: { ...minimal.platform, management: { token: 'x' } }, receiver }),
  ).toEqual(['platform.management.token']);
  expect(told({ ...minimal, sources: [null, 7] })).toEqual(['sources[0]', 'sources[1]']);
});

test('a missing value is reported at the position where it belongs', () => {
  expect(problems({ sources: [source] })).toEqual([
    { path: 'platform', where: 'config.json:1:1', message: 'is missing; expected object' },
  ]);
});

test('an inline secret is rejected without quoting it, with the expected form', () => {
  const content = { ...minimal, sources: [{ name: 'acme', token: 'at_live_abcdef' }] };
  const [problem] = problems(content);
  expect(problem).toMatchObject({
    path: 'sources[0].token',
    message: expect.stringMatching(/^must not contain the secret itself; expected \{"env": "NAME"\}/),
  });
  expect(JSON.stringify(problem)).not.toContain('abcdef');
});

test('a credential in the wrong option is not quoted either', () => {
  const [problem] = problems({ ...minimal, database: 'at_live_abcdef' });
  expect(problem?.message).toContain('at_live_…');
  expect(JSON.stringify(problem)).not.toContain('abcdef');
});

test('a misspelt secret reference is reported as such', () => {
  const [problem] = problems({ ...minimal, receiver: { secrets: [{ evn: 'X' }] } });
  expect(problem).toMatchObject({
    path: 'receiver.secrets[0]',
    message: expect.stringMatching(/^is not a reference to a secret/),
  });
});

test('a status filter is rejected with the reason, not as an unknown option', () => {
  const [problem] = problems({ ...minimal, sources: [{ ...source, filters: { status: 'closed' } }] });
  expect(problem).toMatchObject({
    path: 'sources[0].filters.status',
    message: 'cannot be set',
    hint: expect.stringContaining('together with a cursor'),
  });
});

test('an unsupported database is rejected with the supported forms', () => {
  const [problem] = problems({ ...minimal, database: 'mysql://db/mirror' });
  expect(problem?.path).toBe('database');
  expect(JSON.stringify(problem)).toMatch(/sqlite:.*postgres:/);
});

test('plain http is accepted only for this machine', () => {
  expect(load({ ...minimal, platform: { baseUrl: 'http://127.0.0.1:4010' } }).config.platform.baseUrl).toBe(
    'http://127.0.0.1:4010',
  );
  expect(problems({ ...minimal, platform: { baseUrl: 'http://api.example.com' } })).toHaveLength(1);
});

test.each([
  ['neither token nor credentials', { sources: [{ name: 'acme' }] }, 'sources[0].token'],
  ['two sources of one name', { sources: [source, source] }, 'sources[1].name'],
  [
    'company and filter at odds',
    { sources: [{ ...source, company: 'co_1', filters: { companyId: 'co_2' } }] },
    'sources[0].filters.companyId',
  ],
  [
    'a notice for a source that does not exist',
    { notices: [{ kind: 'command', name: 'n', command: ['true'], rules: { sources: ['acne'] } }] },
    'notices[0].rules.sources[0]',
  ],
  [
    'receiver and console on one port',
    { receiver: { listen: '0.0.0.0:8788', secrets: [{ env: 'S' }] } },
    'console.listen',
  ],
  ['a receiver without secrets', { receiver: { secrets: [] } }, 'receiver.secrets'],
  ['an unknown kind of notice', { notices: [{ kind: 'slcak', name: 'n' }] }, 'notices[0].kind'],
])('%s is reported at its path', (_, change, path) => {
  expect(problems({ ...minimal, ...change }).map((problem) => problem.path)).toEqual([path]);
});

test('a problem of an environment variable or a flag names it instead of the file', () => {
  const env = { ROSTERD_SYNC__PER_PAGE: 'many' };
  const flags = [{ path: 'log.level', text: 'loud', flag: '--log-level' }];
  expect(problems(minimal, { env, flags }).map(({ where, path }) => `${where} ${path}`)).toEqual([
    'env ROSTERD_SYNC__PER_PAGE sync.perPage',
    'flag --log-level log.level',
  ]);
});

test.each(['sources[99999].name', 'sources.4294967296.name'])(
  'a flag for %s is no option: no list is that long',
  (path) => {
    expect(problems(minimal, { flags: [{ path, text: 'x', flag: '--set' }] })).toEqual([
      expect.objectContaining({ where: `--set ${path}`, message: 'is not an option' }),
    ]);
  },
);

test('an entry beyond the end of a list is one problem, with the next one that exists', () => {
  const flags = ['name', 'company'].map((key) => ({ path: `sources[5].${key}`, text: 'x', flag: '--set' }));
  const env = { ROSTERD_RECEIVER__SECRETS__1__ENV: 'S' };
  expect(problems(minimal, { flags, env })).toEqual([
    {
      path: 'receiver.secrets[1]',
      where: 'env ROSTERD_RECEIVER__SECRETS__1__ENV',
      message: 'leaves out receiver.secrets[0], which does not exist',
      hint: 'the next entry of receiver.secrets is receiver.secrets[0]',
    },
    {
      path: 'sources[5]',
      where: 'flag --set',
      message: 'leaves out sources[1], which does not exist',
      hint: 'the next entry of sources is sources[1]',
    },
  ]);
  const next = ['name', 'token.env'].map((key) => ({ path: `sources[1].${key}`, text: 'x', flag: '--set' }));
  expect(load(minimal, { flags: next }).config.sources).toHaveLength(2);
});

test('hooks may name sources that a draft does not have yet, and a message names few of many sources', () => {
  const afterSync = [{ kind: 'command', name: 'report', command: ['true'], sources: ['later'] }];
  const { platform } = minimal;
  expect(load({ platform, afterSync }, { draft: true }).config.afterSync[0]?.sources).toEqual(['later']);
  const sources = Array.from({ length: 30 }, (_, at) => ({ name: `s${at}`, token: { env: `T${at}` } }));
  const [only, ...others] = problems({ platform, sources, afterSync });
  expect([only?.path, others]).toEqual(['afterSync[0].sources[0]', []]);
  expect(only?.message).toMatch(/^is later; expected the name of a source: s0, s1, .*s19 and 10 more$/);
});

test('a flag with an unknown option is reported with the closest one', () => {
  const flags = [{ path: 'sync.perpage', text: '5', flag: '--set' }];
  expect(problems(minimal, { flags })).toEqual([
    {
      path: '',
      where: '--set sync.perpage',
      message: 'is not an option',
      hint: 'did you mean sync.perPage?',
    },
  ]);
});

test('a misspelt key is one problem, even when a required key is missing because of it', () => {
  const { platform, ...rest } = minimal;
  expect(problems({ ...rest, platfrom: platform })).toEqual([
    expect.objectContaining({ path: 'platfrom', hint: 'did you mean platform?' }),
  ]);
});

test('a password in a URL is not quoted', () => {
  const found = problems({
    platform: { baseUrl: 'https://user:hunter2@api.example.com' },
    database: 'mysql://user:hunter2@db/mirror',
    sources: [source],
  });
  expect(found).toHaveLength(2);
  expect(JSON.stringify(found)).not.toContain('hunter2');
});

test('a secret instead of the name of its variable is rejected, because names are printed', () => {
  const found = problems({ ...minimal, sources: [{ name: 'acme', token: { env: 'at_live_abcdef' } }] });
  expect(found.map(({ path }) => path)).toEqual(['sources[0].token.env']);
  expect(JSON.stringify(found)).not.toContain('abcdef');
});

test('an unknown ROSTERD_ variable is listed together with other problems', () => {
  const env = { ROSTERD_SNYC__PER_PAGE: '5' };
  expect(problems({ ...minimal, identity: 'sell' }, { env })).toContainEqual({
    path: '',
    where: 'env ROSTERD_SNYC__PER_PAGE',
    message: 'sets no option',
    hint: 'did you mean ROSTERD_SYNC__PER_PAGE?',
  });
});

test('platform.management takes either a token or credentials', () => {
  const both = { token: { env: 'T' }, credentials: { file: 'm.json', clientId: 'pk_live_x' } };
  const platform = (management: unknown) => ({ ...minimal.platform, management });
  expect(problems({ ...minimal, platform: platform({}) })).toMatchObject([
    { path: 'platform.management.token' },
  ]);
  expect(problems({ ...minimal, platform: platform(both) })).toMatchObject([
    { path: 'platform.management.credentials' },
  ]);
});

test('a receiver needs secrets, or an endpoint and platform.management', () => {
  const endpoint = { publicUrl: 'https://hooks.example.com/webhooks' };
  expect(problems({ ...minimal, receiver: {} })).toMatchObject([{ path: 'receiver.secrets' }]);
  expect(problems({ ...minimal, receiver: { endpoint } })).toMatchObject([
    { path: 'platform.management', hint: expect.stringContaining('rosterd connect --management --write') },
  ]);
  expect(
    problems({ ...minimal, receiver: { endpoint: { ...endpoint, events: ['sunrise'] } } }),
  ).toMatchObject([{ path: 'receiver.endpoint.events[0]' }]);
});

test.each([
  ['127.0.0.1:4910', 'http://127.0.0.1:4910'],
  ['localhost:4910', 'http://localhost:4910'],
  ['https://', null],
  ['ftp://api.example.com', null],
  ['api.example.com', 'https://api.example.com'],
  ['http://api.example.com', 'https://api.example.com'],
])('the check of an address proposes the right scheme for %s', (typed, meant) => {
  const objection = isWebAddress(typed);
  expect(objection).toContain('an https:// URL');
  if (meant === null) expect(objection).not.toContain('did you mean');
  else expect(objection).toContain(`did you mean ${meant}?`);
});

test.each([
  [{ ...minimal, sources: [] }, 'sources: is an empty list; expected a list of at least 1'],
  [null, 'config: is null; expected object'],
  [{ ...minimal, sync: { perPage: Number.NaN } }, 'sync.perPage: is NaN; expected integer'],
  [{ ...minimal, sync: { perPage: 5n } }, 'sync.perPage: is 5; expected integer'],
  [{ ...minimal, sync: { perPage: () => 5 } }, 'sync.perPage: is a function; expected integer'],
])('a value that JSON does not have is shown in the problem of an object: %o', (config, problem) => {
  expect(() => configFromObject(config as ConfigInput, { cwd: '/', env: {} })).toThrow(
    `problem:\n  ${problem}`,
  );
});
