import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { systemClock } from '../../src/runtime/clock.js';
import { sourceNameFor } from '../../src/tasks/connected-source.js';
import { makeClient, makeCompany, type TestClient, userToken } from '../conformance/credentials.js';
import { type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { consent, desk, start } from './connect-session.js';
import { rosterd } from './fake-io.js';

let world: RunningPlatform;
let confidential: TestClient;
let publicClient: TestClient;
const scopes = [
  ...[
    'read:investments',
    'read:companies',
    'read:investors:pii',
    'read:installations',
    'write:installations',
  ],
  ...['read:profile', 'write:webhooks'],
];
const redirectUris = ['http://127.0.0.1/callback'];

beforeAll(async () => {
  world = await startPlatform({ clock: systemClock, companies: 3, records: 20 });
  confidential = makeClient(world, { name: 'Mirror', scopes, redirectUris, piiApproved: true });
  publicClient = makeClient(world, { name: 'Open Mirror', scopes, redirectUris, confidential: false });
});
afterAll(() => world.close());

const founder = (index = 0) => {
  const id = world.ready.companies[index]?.founder;
  const person = world.ready.users.find((one) => one.id === id);
  if (person === undefined) throw new Error('the company has no founder among the users');
  return person;
};
const args = (client: TestClient, ...more: string[]) => [
  ...['connect', '--base-url', world.url, '--client-id', client.clientId],
  ...(client.confidential ? ['--client-secret-env', 'PARTNER_SECRET'] : []),
  ...more,
];
const configOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));

test('connect with a confidential client connects a company, and the next sync reads it', async () => {
  const { folder, io } = desk();
  const env = { PARTNER_SECRET: confidential.secret };
  const company = world.ready.companies[0];
  const session = start(args(confidential, '--company', company?.id ?? '', '--write'), io({ env }));
  const link = await session.link();
  expect(session.io.err()).toContain('Waiting 5 minutes for the browser to be redirected back here.');
  const back = await consent(world, link, founder().email);
  expect(back.hostname).toBe('127.0.0.1');
  const page = await fetch(back);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Signed in')]);
  const { code, out, err } = await session.ended;
  expect({ code, err: err.includes('error') }).toEqual({ code: 0, err: false });
  expect(out).toContain(company?.id);
  expect(out).toContain('included');

  const config = configOf(folder);
  const [source] = config.sources;
  const named = `credentials/${source.name}-${company?.id}.token`;
  expect(source).toMatchObject({ company: company?.id, token: { file: named } });
  const file = join(folder, source.token.file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'credentials')).mode & 0o777).toBe(0o700);
  const token = readFileSync(file, 'utf8').trim();
  expect(token).toMatch(/^at_test_/);
  expect(out + err).not.toContain(token);
  expect(out + err).not.toContain(confidential.secret);
  expect(JSON.stringify(config)).not.toContain('at_test_');

  const synced = await rosterd(['sync', '--json'], io());
  expect(synced.code).toBe(0);
  const [tick] = JSON.parse(synced.out);
  expect(tick).toMatchObject({ source: source.name, outcome: 'done' });
  expect(tick.applied.added).toBeGreaterThan(10);
});

test('connecting again creates another token of the same installation for the same source', async () => {
  const { folder, io, write } = desk();
  write('config.json', '{\n\t"sync": { "intervalSeconds": 5 },\n\t"log": {"level": "warn"}\n}\n', 0o640);
  const company = world.ready.companies[1];
  const tokens: string[] = [];
  const installations: string[] = [];
  for (const round of [1, 2]) {
    const session = start(args(publicClient, '--company', company?.id ?? '', '--write', '--json'), io());
    await fetch(await consent(world, await session.link(), founder(1).email));
    const { code, out } = await session.ended;
    expect([round, code]).toEqual([round, 0]);
    installations.push(JSON.parse(out).connected[0].installation);
    tokens.push(readFileSync(join(folder, configOf(folder).sources[0].token.file), 'utf8'));
  }
  expect(installations[0]).toBe(installations[1]);
  expect(tokens[0]).not.toBe(tokens[1]);
  const config = configOf(folder);
  expect(config.sources).toHaveLength(1);
  expect(config).toMatchObject({ sync: { intervalSeconds: 5 }, log: { level: 'warn' } });
  expect(readFileSync(join(folder, 'config.json'), 'utf8')).toMatch(/^\t"sync"/m);
  expect(statSync(join(folder, 'config.json')).mode & 0o777).toBe(0o640);
});

test('connect --write keeps a source that was added while the person signed in', async () => {
  const { folder, io, write } = desk();
  const content = (...sources: object[]) =>
    write('config.json', JSON.stringify({ platform: { baseUrl: world.url }, sources }));
  const acme = { name: 'acme', token: { env: 'T' }, company: 'co_acme' };
  const beta = { name: 'beta', token: { env: 'T' }, company: 'co_beta' };
  content(acme);
  const id = world.ready.companies[1]?.id ?? '';
  const session = start(args(publicClient, '--company', id, '--write'), io());
  const link = await session.link();
  content(beta, acme);
  await fetch(await consent(world, link, founder(1).email));
  expect((await session.ended).code).toBe(0);
  expect(configOf(folder).sources).toMatchObject([beta, acme, { company: id }]);
});

test('connect leaves the token of a source alone that another company got under the same name while the person signed in', async () => {
  const { folder, io, write } = desk();
  const company = world.ready.companies[2];
  if (company === undefined) throw new Error('there are three companies');
  const name = sourceNameFor(company, []);
  const others = { name, token: { file: `credentials/${name}.token` }, company: 'co_other' };
  const content = (...sources: object[]) =>
    write('config.json', JSON.stringify({ platform: { baseUrl: world.url }, sources }));
  content({ name: 'beta', token: { env: 'T' }, company: 'co_beta' });
  const session = start(args(publicClient, '--company', company.id, '--write'), io());
  const link = await session.link();
  content(others);
  mkdirSync(join(folder, 'credentials'), { mode: 0o700 });
  write(others.token.file, 'theirs', 0o600);
  await fetch(await consent(world, link, founder(2).email));
  const { code } = await session.ended;
  expect([readFileSync(join(folder, others.token.file), 'utf8'), code]).toEqual(['theirs', 0]);
  expect(configOf(folder).sources).toMatchObject([
    others,
    { name: `${name}-2`, token: { file: `credentials/${name}-2-${company.id}.token` }, company: company.id },
  ]);
});

test('connect: two companies that get the same source name have a token file each', async () => {
  const { folder, io } = desk();
  const tokens: string[] = [];
  for (const at of [1, 2]) {
    const id = world.ready.companies[at]?.id ?? '';
    run(world.services.state, "UPDATE companies SET name = 'Twin' WHERE id = ?", [id]);
    const session = start(args(publicClient, '--company', id, '--json'), io());
    await fetch(await consent(world, await session.link(), founder(at).email));
    const [one] = JSON.parse((await session.ended).out).connected;
    expect([one.source, one.company]).toEqual(['twin', id]);
    tokens.push(join(folder, one.config.token.file));
  }
  const [first = '', second = ''] = tokens;
  expect(readFileSync(first, 'utf8')).not.toBe(readFileSync(second, 'utf8'));
});

test('connect --write refuses sources of the environment, and prints what it could not write', async () => {
  const { folder, io, write } = desk();
  write('config.json', '{}');
  const id = world.ready.companies[1]?.id ?? '';
  const asked = args(publicClient, '--company', id, '--write');
  const env = { ROSTERD_SOURCES__0__NAME: 'acme', ROSTERD_SOURCES__0__TOKEN: '{"env":"T"}' };
  const refused = await rosterd(asked, io({ env }));
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('comes from env ROSTERD_SOURCES__0__NAME\nTry: leave --write out'),
  ]);
  const session = start(asked, io());
  const link = await session.link();
  write('config.json', '{ "log": ');
  await fetch(await consent(world, link, founder(1).email));
  const { code, out, err } = await session.ended;
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/config\.json cannot be edited \(line 1, column 10: /),
  ]);
  const entry = JSON.parse(/^\{.*\}$/m.exec(out)?.[0] ?? '');
  expect(entry).toMatchObject({ company: id, token: { file: expect.any(String) } });
  expect(readFileSync(join(folder, entry.token.file), 'utf8')).toMatch(/^at_test_/);
});

test('connecting a company again after it revoked the application names the command that lists it again', async () => {
  const { folder, io } = desk();
  const id = world.ready.companies[2]?.id ?? '';
  const connecting = async () => {
    const session = start(args(publicClient, '--company', id, '--write', '--json'), io());
    await fetch(await consent(world, await session.link(), founder(2).email));
    const { code, out, err } = await session.ended;
    expect(code).toBe(0);
    const [{ source, installation }] = JSON.parse(out).connected;
    return { source, installation, err };
  };
  const sync = async (...more: string[]) => (await rosterd(['sync', ...more], io())).code;
  const first = await connecting();
  expect([await sync(), first.err]).toEqual([0, expect.not.stringContaining('--resync')]);
  const token = userToken(world, publicClient, founder(2).email);
  expect((await world.delete(`/installations/${first.installation}`, { token })).status).toBe(200);
  expect(await sync()).toBe(3);

  const { source, installation, err } = await connecting();
  expect(installation).not.toBe(first.installation);
  expect(configOf(folder).sources).toMatchObject([{ name: source, installation }]);
  expect(err).toContain(`Try: rosterd sync --source ${source} --resync`);
  expect(await sync('--source', source, '--resync')).toBe(0);
  expect(await sync()).toBe(0);
});

test('connect names the source that already mirrors a company, and --replace gives it the new token', async () => {
  const { folder, io, write } = desk();
  const company = world.ready.companies[0];
  // The source has no company filter: it reads everything that its token can see.
  const config = { platform: { baseUrl: world.url }, database: 'sqlite:./mirror.db' };
  const old = { name: 'old', token: company?.token ?? '' };
  write('config.json', JSON.stringify({ ...config, sources: [old] }));
  expect((await rosterd(['sync'], io())).code).toBe(0);
  const rows = async () =>
    JSON.parse((await rosterd(['query', 'SELECT count(*) AS n FROM investments', '--json'], io())).out);
  const before = await rows();

  const connecting = async (...more: string[]) => {
    const session = start(args(publicClient, '--company', company?.id ?? '', '--write', ...more), io());
    await fetch(await consent(world, await session.link(), founder(0).email));
    return await session.ended;
  };
  const refused = await connecting();
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('is already mirrored, by source "old"');
  expect(refused.err).toContain('--replace gives source "old" the new token');
  expect(configOf(folder).sources).toEqual([old]);

  const replaced = await connecting('--replace');
  expect([replaced.code, replaced.err]).toEqual([0, expect.stringContaining('sync --source old --resync')]);
  expect(configOf(folder).sources).toEqual([
    {
      name: 'old',
      token: { file: `credentials/old-${company?.id}.token` },
      company: company?.id,
      installation: expect.stringMatching(/^inst_/),
    },
  ]);
  expect((await rosterd(['sync', '--source', 'old', '--resync'], io())).code).toBe(0);
  expect(await rows()).toEqual(before);
});

test.each([
  ['a filter', { token: { env: 'OLD' }, filters: { offeringId: 'ofr_1' } }, 'filters.companyId'],
  ['a sign-in of its own', { credentials: { file: 'old.json', clientId: 'pk_test_1' } }, 'company'],
] as const)(
  'a source with %s is replaced only when asked for, and keeps no second way in',
  async (_what, entry, key) => {
    const { folder, io, write } = desk();
    const company = world.ready.companies[0];
    const id = company?.id ?? '';
    const named = key === 'company' ? { company: id } : { filters: { ...entry.filters, companyId: id } };
    write(
      'config.json',
      JSON.stringify({ platform: { baseUrl: world.url }, sources: [{ name: 'old', ...entry, ...named }] }),
    );
    const results = [];
    for (const more of [[], ['--replace']]) {
      const session = start(args(publicClient, '--company', id, '--write', ...more), io());
      await fetch(await consent(world, await session.link(), founder(0).email));
      results.push((await session.ended).code);
    }
    expect(results).toEqual([2, 0]);
    const { sources } = configOf(folder);
    expect(sources).toHaveLength(1);
    const file = `credentials/old-${id}.token`;
    expect(sources[0]).toMatchObject({ name: 'old', company: id, token: { file } });
    expect(sources[0]).not.toHaveProperty('credentials');
  },
);

test('connect reports that identity was not granted', async () => {
  const { io } = desk();
  const company = world.ready.companies[2];
  const session = start(args(publicClient, '--company', company?.id ?? '', '--json'), io());
  await fetch(await consent(world, await session.link(), founder(2).email));
  const { code, out, err } = await session.ended;
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ written: false, connected: [{ identity: false }] });
  expect(JSON.parse(out).connected[0].scopes).not.toContain('read:investors:pii');
  expect(err).toContain('identity was not granted');
});

test.each([
  ['revokes the token', [], 'the new token was revoked', 0],
  [
    'says that the token stays valid when the platform refuses to revoke it',
    [{ status: 400, body: { error: { type: 'bad_request', message: 'not now' } } }],
    'the new token could not be revoked and stays valid',
    1,
  ],
] as const)(
  'connect of a company without read:investments %s, and names the installation to revoke',
  async (_what, actions, end, valid) => {
    const { folder, io } = desk();
    const client = makeClient(world, { scopes: ['read:companies', 'write:installations'], redirectUris });
    const faults = actions.map((action) => ({ method: 'POST', path: '/oauth/revoke', times: 1, action }));
    await world.control('POST', '/faults', faults);
    const asked = args(client, '--company', world.ready.companies[0]?.id ?? '', '--write');
    const session = start(asked, io({ env: { PARTNER_SECRET: client.secret } }));
    await fetch(await consent(world, await session.link(), founder().email));
    const { code, err } = await session.ended;
    const tokens = world.services.state
      .prepare('SELECT revoked_at FROM access_tokens WHERE application_no = ? AND family IS NULL')
      .all(client.applicationNo) as { revoked_at: number | null }[];
    expect([code, tokens.length, tokens.filter(({ revoked_at }) => revoked_at === null).length]).toEqual([
      3,
      1,
      valid,
    ]);
    expect(err).toContain(`was installed without read:investments; ${end}`);
    expect(err).toMatch(/revoke the installation inst_\w+ on the platform, then connect again/);
    expect(() => configOf(folder)).toThrow('ENOENT');
  },
);

test('connect --no-browser prints the link and reads the pasted redirect address', async () => {
  const { io } = desk();
  const stdin = new Readable({ read: () => {} });
  const session = start(args(publicClient, '--no-browser', '--all', '--json'), io({ stdin }));
  const back = await consent(world, await session.link(), founder(0).email);
  expect(back.origin).toBe('http://127.0.0.1');
  stdin.push(`${back.href}\n`);
  const { code, out, err } = await session.ended;
  expect([code, err.includes('error')]).toEqual([0, false]);
  expect(JSON.parse(out).connected.length).toBeGreaterThan(0);
});

test('connect rejects a pasted address with the wrong state', async () => {
  const { io } = desk();
  const stdin = Readable.from(['http://127.0.0.1/callback?code=abc&state=theirs\n']);
  const { code, err } = await rosterd(args(publicClient, '--no-browser', '--all'), io({ stdin }));
  expect(code).toBe(1);
  expect(err).toContain('foreign `state`');
});

test('connect with stdin at its end exits 3: a human must re-authorize', async () => {
  const { io } = desk();
  const { code, err } = await rosterd(
    args(publicClient, '--no-browser', '--all'),
    io({ stdin: Readable.from([]) }),
  );
  expect(code).toBe(3);
  expect(err).toMatch(/\n[^\n]*no answer/);
  expect(err).not.toMatch(/the code:.*nobody/);
});

test('connect stores nothing when the person declines', async () => {
  const { folder, io } = desk();
  const session = start(args(publicClient, '--all', '--write'), io());
  await fetch(await consent(world, await session.link(), founder().email, 'deny'));
  const { code, err } = await session.ended;
  expect(code).toBe(1);
  expect(err).toContain('access_denied\nTry: run the command again and approve the request in the browser\n');
  expect(() => configOf(folder)).toThrow('ENOENT');
});

test('connect without a terminal lists the companies to choose from and exits 2', async () => {
  const { io } = desk();
  const { email } = founder();
  const [name = ''] = email.split('@');
  const made = makeCompany(world, { [name]: ['founder'] }, 'test');
  const session = start(args(publicClient), io());
  await fetch(await consent(world, await session.link(), email));
  const { code, err } = await session.ended;
  expect(code).toBe(2);
  expect(err).toContain('--all, or --company with one of: co_');
  expect(err).toContain(made.id);
});

test('connect at a terminal takes a number that is typed twice for one company', async () => {
  const { io } = desk();
  const { email } = founder(0);
  const [name = ''] = email.split('@');
  makeCompany(world, { [name]: ['founder'] }, 'test');
  const stdin = Object.assign(new Readable({ read: () => {} }), { isTTY: true });
  const session = start(args(publicClient, '--no-browser', '--json'), io({ stdin }));
  const back = await consent(world, await session.link(), email);
  stdin.push(`${back.href}\n`);
  await expect.poll(() => session.io.err()).toContain('Which? Numbers, or all: ');
  stdin.push('2, 1 2\n');
  const { code, out } = await session.ended;
  expect(code).toBe(0);
  const companies = JSON.parse(out).connected.map(({ company }: { company: string }) => company);
  expect(new Set(companies).size).toBe(2);
  expect(companies).toHaveLength(2);
});

test('connect refuses an option that it would ignore, before a person signs in', async () => {
  const { io } = desk();
  const refused = async (...more: string[]) => {
    const { code, err } = await rosterd(args(publicClient, ...more), io());
    expect(code).toBe(2);
    return err;
  };
  expect(await refused('--all', '--company', 'co_1')).toContain('--company and --all: give one of them');
  for (const [signIn, ...more] of [
    ['--source=acme', '--company', 'co_1'],
    ['--management', '--all', '--replace'],
  ] as const)
    expect(await refused(signIn, ...more)).toContain('install on no company');
});

test('connect does not leave the tokens of the sign-in behind', async () => {
  const { io } = desk();
  const grants = () =>
    (
      world.services.state
        .prepare('SELECT count(*) AS live FROM grants WHERE client_id = ? AND revoked_at IS NULL')
        .get(publicClient.clientId) as { live: number }
    ).live;
  const before = grants();
  const session = start(args(publicClient, '--all', '--json'), io());
  await fetch(await consent(world, await session.link(), founder().email));
  expect((await session.ended).code).toBe(0);
  expect(grants()).toBe(before);
});

test('connect without an application names the flags to give', async () => {
  const { io } = desk();
  const { code, err } = await rosterd(['connect', '--base-url', world.url], io());
  expect(code).toBe(2);
  expect(err).toContain('--client-id');
});

test('connect --source stores a sign-in in the vault, where the next sync reads and status counts it', async () => {
  const { folder, io, write } = desk();
  const env = { PARTNER_SECRET: confidential.secret };
  const company = world.ready.companies[0];
  write(
    'config.json',
    JSON.stringify({
      platform: { baseUrl: world.url },
      sources: [
        {
          name: 'mine',
          credentials: {
            vault: 'crm',
            clientId: confidential.clientId,
            clientSecret: { env: 'PARTNER_SECRET' },
          },
          company: company?.id,
        },
      ],
    }),
  );
  const session = start(['connect', '--source', 'mine'], io({ env }));
  await fetch(await consent(world, await session.link(), founder().email));
  const { code, out, err } = await session.ended;
  expect({ code, out }).toEqual({
    code: 0,
    out: 'signed in; the tokens are in the vault entry "sign-in/crm", and rosterd keeps them refreshed\n',
  });
  const file = join(folder, 'credentials/vault/sign-in.crm.secret');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { accessToken } = JSON.parse(readFileSync(file, 'utf8'));
  expect(out + err).not.toContain(accessToken);

  expect((await rosterd(['sync'], io({ env }))).code).toBe(0);
  const status = await rosterd(['vault', 'status', '--json'], io({ env }));
  expect(JSON.parse(status.out)).toEqual({
    storage: 'files',
    folder: join(folder, 'credentials/vault'),
    entries: 1,
    kinds: [{ kind: 'sign-in', entries: 1 }],
    keys: [],
  });
  expect(status.out).not.toContain(accessToken);
  expect((await rosterd(['vault', 'status'], io({ env }))).out).toBe(
    `1 secret in ${join(folder, 'credentials/vault')}\nKIND     ENTRIES\nsign-in  1\n`,
  );
  expect((await rosterd(['vault', 'rotate'], io({ env }))).err).toContain('which are not encrypted');
  const none = await rosterd(['vault', 'remove', 'sign-in/nobody'], io({ env }));
  expect([none.code, none.err]).toEqual([
    2,
    expect.stringContaining('the vault has no entry "sign-in/nobody"'),
  ]);
  expect((await rosterd(['vault', 'remove', 'sign-in/crm'], io({ env }))).out).toBe(
    'sign-in/crm was deleted\n',
  );
  expect((await rosterd(['sync'], io({ env }))).code).toBe(3);
});

test.each([
  ['keep', ['--source', 'mine'], true],
  ['keep', ['--source', 'mine', '--without-identity'], false],
  ['drop', ['--source', 'mine'], false],
] as const)('with "identity": "%s", connect %j requests names: %s', async (identity, flags, names) => {
  const { io, write } = desk();
  const credentials = { file: 'credentials/mine.json', clientId: publicClient.clientId };
  const sources = [{ name: 'mine', credentials, company: world.ready.companies[0]?.id }];
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url }, sources, identity }));
  const session = start(['connect', ...flags], io());
  const link = await session.link();
  const asked = new URL(link).searchParams.get('scope')?.split(' ');
  expect(asked).toEqual(['read:investments', 'read:companies', ...(names ? ['read:investors:pii'] : [])]);
  await fetch(await consent(world, link, founder().email, 'deny'));
  expect((await session.ended).code).toBe(1);
});

test.each([
  ['a file whose folder cannot be made', { file: 'blocked/mine.json' }, {}, 'cannot be written'],
  [
    'a vault whose key is not there',
    { vault: 'crm' },
    { database: 'postgres://rosterd@127.0.0.1:1/mirror', vault: { keys: [{ env: 'VAULT_KEY' }] } },
    'VAULT_KEY is not set',
  ],
])('connect --source with %s fails before a person signs in', async (_, place, more, why) => {
  const { io, write } = desk();
  write('blocked', '');
  const credentials = { ...place, clientId: publicClient.clientId };
  const sources = [{ name: 'mine', credentials, company: world.ready.companies[0]?.id }];
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url }, sources, ...more }));
  const stdin = Readable.from([]);
  const { code, err } = await rosterd(['connect', '--source', 'mine', '--no-browser'], io({ stdin }));
  expect([code, err]).toEqual([2, expect.stringContaining(why)]);
  expect(err).not.toContain('Sign in here');
});

test('connect makes no token of a company that it could not store', async () => {
  const { io, write } = desk();
  write('blocked', '');
  const { id } = world.ready.companies[0] ?? {};
  const sources = [{ name: 'acme', company: id, token: { file: 'blocked/acme.token' } }];
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url }, sources }));
  const tokens = () =>
    world.services.state
      .prepare<[], number>('SELECT count(*) FROM access_tokens WHERE installation_no IS NOT NULL')
      .pluck()
      .get();
  const before = tokens();
  const session = start(args(publicClient, '--company', id ?? ''), io());
  await fetch(await consent(world, await session.link(), founder().email));
  const { code, err } = await session.ended;
  expect([code, err]).toEqual([2, expect.stringContaining('acme.token cannot be written')]);
  expect(tokens()).toBe(before);
});

test('connect --management signs in, and writes what manages endpoints or prints what it could not write', async () => {
  const { folder, io, write } = desk();
  write('config.json', '{"sources": []}');
  const asked = args(publicClient, '--management', '--write');
  const signedIn = async (meanwhile: () => void) => {
    const session = start(asked, io());
    const link = await session.link();
    meanwhile();
    await fetch(await consent(world, link, founder().email));
    return await session.ended;
  };
  const refused = await signedIn(() => write('config.json', '{ "log": '));
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('config.json cannot be edited')]);
  const printed = JSON.parse(`{${/^"management": .*$/m.exec(refused.out)?.[0]}}`);
  write('config.json', '{"sources": []}');
  expect(await signedIn(() => {})).toMatchObject({ code: 0, err: expect.not.stringContaining('Add to') });
  const { platform } = configOf(folder);
  expect(platform).toMatchObject({ baseUrl: world.url, ...printed });
  const file = join(folder, platform.management.credentials.file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('connect --rule signs in the manager of a follow rule, and the next sync connects what is installed', async () => {
  const { folder, io, write } = desk();
  const env = { PARTNER_SECRET: confidential.secret };
  const credentials = {
    file: 'credentials/manager.json',
    clientId: confidential.clientId,
    clientSecret: { env: 'PARTNER_SECRET' },
  };
  write(
    'config.json',
    JSON.stringify({
      platform: { baseUrl: world.url },
      sources: [
        { follow: 'installations', rule: 'crm', credentials, scopes: ['read:investments'], identity: 'drop' },
      ],
    }),
  );
  const early = await rosterd(['sync'], io({ env }));
  expect([early.code, early.err]).toEqual([
    3,
    expect.stringMatching(/nobody is signed in: .*\nTry: rosterd connect --rule crm\n$/),
  ]);
  const unknown = await rosterd(['connect', '--rule', 'crn'], io({ env }));
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('one of: crm')]);
  const both = await rosterd(['connect', '--rule', 'crm', '--management'], io({ env }));
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('give one of them')]);

  const session = start(['connect', '--rule', 'crm'], io({ env }));
  await fetch(await consent(world, await session.link(), founder(1).email));
  expect((await session.ended).code).toBe(0);
  const { accessToken } = JSON.parse(readFileSync(join(folder, 'credentials/manager.json'), 'utf8'));
  const company = world.ready.companies[1]?.id;
  await fetch(new URL('/installations', world.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ target_type: 'company', target_id: company }),
  });
  const synced = await rosterd(['sync'], io({ env }));
  expect(synced.code).toBe(0);
  const { out } = await rosterd(['sources', 'list', '--rule', 'crm', '--json'], io({ env }));
  expect(JSON.parse(out).sources.map((one: { company_id: string }) => one.company_id)).toContain(company);
  const doctor = await rosterd(['doctor', '--json'], io({ env }));
  expect(JSON.parse(doctor.out).checks).toContainEqual(
    expect.objectContaining({ name: 'follow.crm', verdict: 'pass' }),
  );
  expect(synced.out + out + doctor.out).not.toContain(accessToken);
});
