import { expect, test } from 'vitest';
import { effectiveSettings } from '../../src/config/describe.js';
import { quickLoadConfig } from '../../src/config/quick-load.js';
import { isSourceTemplate } from '../../src/config/source-template.js';
import { defined } from '../../src/domain/defined.js';
import { folder, load, minimal, problems } from './load-config.js';

const token = { env: 'MANAGER_TOKEN' };
const rule = { follow: 'installations', token };
const follows = (...sources: readonly object[]) => ({ ...minimal, sources });
const beside = (...rules: readonly object[]) => follows(...minimal.sources, ...rules);

test('a follow rule alone is a valid configuration, with the defaults of a rule and no listed source', () => {
  const { config, warnings } = load(follows(rule));
  expect(config.sources).toEqual([]);
  expect(config.follows).toEqual([
    {
      rule: 'installations',
      access: { kind: 'token', token: expect.anything() },
      target: 'company',
      name: '{slug}',
      scopes: ['read:companies', 'read:investments', 'read:investors:pii'],
      identity: 'keep',
      keepDays: 30,
      except: [],
      overrides: new Map(),
    },
  ]);
  expect(warnings).toEqual([]);
});

test('a complete follow rule beside listed sources is read as it is written', async () => {
  const complete = {
    follow: 'installations',
    rule: 'crm',
    credentials: { file: 'manager.json', clientId: 'pk_live_1' },
    targets: 'company',
    name: 'crm-{slug}.{installation}',
    scopes: ['read:investments', 'read:investments'],
    identity: 'drop',
    afterRevoke: { keepDays: null },
    except: ['inst_a'],
    overrides: { inst_b: { name: 'umbrella' }, inst_c: {} },
  };
  const cwd = folder();
  const full = load(beside(complete), { cwd });
  expect(full.config.sources.map(({ name }) => name)).toEqual(['acme']);
  expect(full.config.follows).toEqual([
    {
      rule: 'crm',
      access: {
        kind: 'credentials',
        at: { file: `${cwd}/manager.json` },
        clientId: 'pk_live_1',
        clientSecret: null,
      },
      target: 'company',
      name: 'crm-{slug}.{installation}',
      scopes: ['read:investments'],
      identity: 'drop',
      keepDays: null,
      except: ['inst_a'],
      overrides: new Map([
        ['inst_b', { name: 'umbrella' }],
        ['inst_c', {}],
      ]),
    },
  ]);
  const quick = await quickLoadConfig({ cwd, env: {} });
  expect(quick.settings).toEqual(full.settings);
  expect(quick.config.follows).toEqual(full.config.follows);
});

test('a rule without identity follows the top-level setting, and its default scopes follow both', () => {
  const [dropped] = load({ ...follows(rule), identity: 'drop' }).config.follows;
  expect(dropped).toMatchObject({ identity: 'drop', scopes: ['read:companies', 'read:investments'] });
  const [kept] = load(follows({ ...rule, identity: 'keep' })).config.follows;
  expect(kept).toMatchObject({ identity: 'keep' });
  expect(kept?.scopes).toContain('read:investors:pii');
});

test('no rule keeps names when the configuration drops them, and its tokens do not read them', () => {
  const { config, warnings } = load({ ...follows({ ...rule, identity: 'keep' }), identity: 'drop' });
  expect(config.follows).toMatchObject([
    { identity: 'drop', scopes: ['read:companies', 'read:investments'] },
  ]);
  expect(warnings).toContainEqual(
    expect.stringMatching(/^sources\[\d\]\.identity is keep, and identity is drop: no names are kept/),
  );
});

test.each<[string, object, { path: string; message: RegExp | string; hint?: unknown }]>([
  [
    'an unknown placeholder',
    { name: 'x-{slog}' },
    {
      path: 'sources[1].name',
      message:
        'is "x-{slog}"; expected one of {slug}, {company}, {installation} for {slog}; did you mean {slug}?',
    },
  ],
  [
    'a template of one name for all',
    { name: 'acme2' },
    { path: 'sources[1].name', message: /or every source would have the same name$/ },
  ],
  [
    'a template with letters that no name has',
    { name: 'CRM {slug}' },
    { path: 'sources[1].name', message: /expected a template of valid names such as \{slug\}-rounds/ },
  ],
  [
    'a template that leaves no room',
    { name: `${'x'.repeat(40)}{slug}` },
    { path: 'sources[1].name', message: /at most 39 beside/ },
  ],
  [
    'no account',
    { token: undefined },
    { path: 'sources[1].token', message: /expected token or credentials/ },
  ],
  [
    'scopes that read no investments',
    { scopes: ['read:investors:pii'] },
    {
      path: 'sources[1].scopes',
      message: 'lacks read:investments, without which a token reads no investments',
    },
  ],
  [
    'scopes without names, which are kept',
    { scopes: ['read:investments'] },
    {
      path: 'sources[1].scopes',
      message: 'lacks read:investors:pii, and identity is keep',
      hint: 'add "read:investors:pii", or set "identity": "drop" in this rule',
    },
  ],
  [
    'what is no scope',
    { scopes: ['investments'] },
    { path: 'sources[1].scopes[0]', message: /a scope such as/ },
  ],
  [
    'an exception that is no installation',
    { except: ['co_1'] },
    { path: 'sources[1].except[0]', message: 'is "co_1"; expected an id such as inst_…' },
  ],
  [
    'an override of what is no installation',
    { overrides: { acme: { name: 'acme2' } } },
    { path: 'sources[1].overrides.acme', message: 'cannot be a key here; expected an id such as inst_…' },
  ],
  [
    'an override with the name of a listed source',
    { overrides: { inst_b: { name: 'acme' } } },
    {
      path: 'sources[1].overrides.inst_b.name',
      message: 'is acme, the name of sources[0]; expected another name',
    },
  ],
  [
    'a negative number of days',
    { afterRevoke: { keepDays: -1 } },
    { path: 'sources[1].afterRevoke.keepDays', message: 'is -1; expected at least 0' },
  ],
  [
    'an unknown option',
    { target: 'company' },
    { path: 'sources[1].target', message: 'is not an option', hint: 'did you mean targets?' },
  ],
  [
    'an option of listed sources',
    { company: 'co_1' },
    {
      path: 'sources[1].company',
      message: 'is not an option',
      hint: expect.stringMatching(/^options here: follow, rule, /),
    },
  ],
  [
    'something else to follow',
    { follow: 'instalations' },
    {
      path: 'sources[1].follow',
      message: 'is "instalations"; expected "installations"',
      hint: 'did you mean installations?',
    },
  ],
])('a follow rule with %s is reported with its place', (_, set, { path, message, hint }) => {
  const text = typeof message === 'string' ? message : expect.stringMatching(message);
  expect(problems(beside({ ...rule, ...set }))).toEqual([
    expect.objectContaining({
      path,
      where: expect.stringMatching(/^config\.json:\d+:\d+$/),
      message: text,
      ...defined({ hint }),
    }),
  ]);
});

test('the error for a listed source with an option of follow rules names the options of a listed source', () => {
  expect(problems(follows({ ...minimal.sources[0], scopes: ['read:investments'] }))).toMatchObject([
    {
      path: 'sources[0].scopes',
      hint: 'options here: name, token, credentials, company, installation, filters',
    },
  ]);
});

test('two rules of one name, or of one account, are errors', () => {
  expect(problems(follows(rule, { ...rule, token: { env: 'OTHER' } }))).toEqual([
    expect.objectContaining({
      path: 'sources[1].rule',
      message: 'is installations, the name of the rule at sources[0]; expected another name',
    }),
  ]);
  expect(problems(follows(rule, { ...rule, rule: 'again' }))).toEqual([
    expect.objectContaining({
      path: 'sources[1]',
      message: 'follows the same installations as sources[0]; every record would be counted twice',
    }),
  ]);
});

test('two installations with one name are an error, within a rule and between rules', () => {
  const named = (id: string) => ({ overrides: { [id]: { name: 'umbrella' } } });
  const both = { overrides: { inst_a: { name: 'umbrella' }, inst_b: { name: 'umbrella' } } };
  const message = 'is umbrella, the name of inst_a in sources[0].overrides; expected another name';
  expect(problems(follows({ ...rule, ...both }))).toMatchObject([{ message }]);
  const other = { ...rule, rule: 'other', token: { env: 'OTHER' } };
  expect(problems(follows({ ...rule, ...named('inst_a') }, { ...other, ...named('inst_b') }))).toMatchObject([
    { path: 'sources[1].overrides.inst_b.name', message },
  ]);
});

test('a listed source whose installation a rule may follow is a warning, unless the rule excepts it', () => {
  const listed = { ...minimal.sources[0], installation: 'inst_a' };
  expect(load(follows(rule, listed)).warnings).toEqual([
    'sources[1] ("acme") has inst_a, which the rule sources[0] follows too if it belongs to its application: its records would be counted twice. Add it to "except" of the rule, or remove the source',
  ]);
  expect(load(follows({ ...rule, except: ['inst_a'] }, listed)).warnings).toEqual([]);
});

test('with a follow rule, notices and hooks may name sources that are not listed', () => {
  const notices = [{ kind: 'command', name: 'log', command: ['cat'], rules: { sources: ['later'] } }];
  expect(problems({ ...minimal, notices })).toHaveLength(1);
  expect(load({ ...beside(rule), notices }).config.notices).toHaveLength(1);
});

test('problems of listed sources keep their place behind a rule, and all problems are reported at once', () => {
  const one = { name: 'one', token: { env: 'A' }, company: 'co_1' };
  const found = problems(follows({ ...rule, name: '{x}' }, one, { ...one, name: 'two' }, one));
  expect(found.map(({ path }) => path)).toEqual(['sources[0].name', 'sources[3].name', 'sources[2]']);
});

test('the environment sets a rule, and what is shown of it contains no secret', () => {
  const { config, settings, originOf } = load(follows(rule), {
    env: {
      ROSTERD_SOURCES__0__AFTER_REVOKE__KEEP_DAYS: '0',
      ROSTERD_SOURCES__0__OVERRIDES: '{"inst_a":{"name":"a"}}',
    },
  });
  expect(config.follows[0]).toMatchObject({ keepDays: 0, overrides: new Map([['inst_a', { name: 'a' }]]) });
  expect(originOf(['sources', 0, 'overrides', 'inst_a', 'name'])).toBe('env ROSTERD_SOURCES__0__OVERRIDES');
  const rows = effectiveSettings(load(follows({ ...rule, token: 'at_test_canary' })));
  expect(rows.find(({ path }) => path === 'sources[0].token')?.value).toBe('(secret, written out)');
  expect(rows.find(({ path }) => path === 'sources[0].follow')?.value).toBe('installations');
  expect(JSON.stringify(rows)).not.toContain('canary');
  expect(settings.sources[0]?.follow).toBe('installations');
});

test.each([
  ['{slug}', true],
  ['{company}', true],
  ['crm-{slug}.{installation}', true],
  ['9{slug}', true],
  ['', false],
  ['acme', false],
  ['{}', false],
  ['{slug', false],
  ['-{slug}', false],
  ['{slug}{x}', false],
  ['{slug} {slug}', false],
])('the source template %j is valid: %s', (text, valid) => {
  expect(isSourceTemplate(text)).toBe(valid);
});
