import { createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileCredentials, vaultCredentials } from '../../src/client/tokens/credential-store.js';
import { Secret } from '../../src/config/secrets.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { openVault } from '../../src/reading/open-vault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { type OwnDatabase, rolePassword } from '../postgres/own-role.js';
import { bodyOf } from '../support/body-of.js';
import { freePort } from '../support/free-port.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { type Program, startLife } from '../torture/life.js';
import { dumpServer } from './dump-server.js';
import type { Canary } from './sweep.js';

/*
 * Plays a day of a daemon at debug level: every command, every page, refused deliveries, platform errors that
 * contain personal data, notices and an erasure. All output and responses are written beside the daemon's own
 * files.
 */

const person = {
  name: 'Canary Élodie Nameworth',
  legal_name: 'Canary Legalia Nameworth-Ōe',
  email: 'canary.mailbox@nobody.example',
  bio: 'canary-bio: keeps bees & ledgers',
  address: { line: '77 Canaryline Quay', city: 'Canarytown', postal_code: 'CNRY-9Z' },
};
const message = 'canary-message: good luck 🌱 "all"';
const secrets = {
  HOOK: '', // set by the platform
  NOTICE: `whsec_${Buffer.from('canary-notice-signing-key-0001').toString('base64')}`,
  CONSOLE: 'canary-console-token-53Qx9vN2kL8mR4tY',
  DATABASE: rolePassword,
  VAULT: Buffer.from('canary-vault-key-of-32-bytes-000').toString('base64'),
};

export interface Played {
  readonly canaries: readonly Canary[];
  /** Excerpts of the output, for a test to check that something was logged. */
  readonly said: readonly string[];
}

/** Uses a file in the folder, unless another database is given. */
export async function playDay(folder: string, program: Program, own?: OwnDatabase): Promise<Played> {
  const sandbox = await startSeededSandbox({ seed: 11, companies: 1, records: 40, limits: false });
  const sink = await openSink(folder);
  const database =
    own === undefined
      ? { database: 'sqlite:./mirror.db' }
      : {
          database: own.url,
          databasePassword: { env: 'DATABASE' },
          vault: { keys: [{ env: 'VAULT' }] },
        };
  for (const name of ['captured', 'tmp']) mkdirSync(join(folder, name));
  const said: string[] = [];
  const keep = (name: string, text: string) => {
    said.push(name);
    writeFileSync(join(folder, 'captured', `${String(said.length).padStart(3, '0')}-${name}`), text);
  };
  try {
    const control = controlOf(sandbox);
    const [company] = sandbox.ready.companies;
    const [app] = sandbox.ready.apps;
    const [user] = sandbox.ready.users;
    if (company === undefined || app === undefined || user === undefined) throw new Error('an empty sandbox');
    const ids: string[] = [];
    for (const email of [person.email, `other.${person.email}`, `third.${person.email}`]) {
      const set = { investor: { ...person, email }, message };
      const made = await control('POST', '/investments', { company: company.id, set });
      ids.push(...(made as { ids: string[] }).ids);
    }
    /** Picks no random record: that could remove the people this day is about from the feed. */
    const stir = async () => {
      const made = await control('POST', '/investments', { company: company.id, count: 3 });
      const [changed, gone] = (made as { ids: string[] }).ids;
      await control('PATCH', `/investments/${changed}`, { status: 'canceled' });
      await control('DELETE', `/investments/${gone}`);
    };
    const [ports, consolePort] = [await freePort(), await freePort()];
    const hook = `http://127.0.0.1:${ports}/webhooks`;
    const { secret } = (await control('POST', '/webhooks', {
      url: hook,
      events: ['investment.changed'],
    })) as {
      secret: string;
    };
    const env = {
      ...secrets,
      HOOK: secret,
      TOKEN: company.token,
      CLIENT_SECRET: app.live.clientSecret,
      TMPDIR: join(folder, 'tmp'),
    };
    const signIn = storeOf(folder, own);
    await signIn.store.write({
      clientId: app.live.clientId,
      clientSecret: null,
      accessToken: 'canary-spent-access-token',
      refreshToken: user.liveRefreshToken,
      previousRefreshToken: null,
      expiresAt: null,
      scope: '',
    });
    writeFileSync(
      join(folder, 'config.json'),
      JSON.stringify({
        platform: {
          baseUrl: sandbox.url,
          requestsPerHour: 1_000_000,
          management: {
            credentials: {
              ...(own === undefined ? { file: 'credentials.json' } : { vault: 'manager' }),
              clientId: app.live.clientId,
              clientSecret: { env: 'CLIENT_SECRET' },
            },
          },
        },
        ...database,
        sources: [
          { name: 'acme', token: { env: 'TOKEN' }, company: company.id, installation: company.installation },
        ],
        sync: { intervalSeconds: 3_600 },
        receiver: { listen: `127.0.0.1:${ports}`, secrets: [{ env: 'HOOK' }] },
        console: { listen: `127.0.0.1:${consolePort}`, auth: { token: { env: 'CONSOLE' } } },
        notices: [
          { kind: 'http', name: 'sink', url: sink.url, secret: { env: 'NOTICE' } },
          { kind: 'command', name: 'shell', command: ['sh', '-c', `cat >> '${join(folder, 'told.jsonl')}'`] },
        ],
        log: { level: 'debug', format: 'json' },
      }),
    );
    const daemon = startLife(['run'], { program, folder, env });
    if (!(await daemon.ready)) throw new Error(`the daemon does not start: ${daemon.printed()}`);
    const command = async (...args: string[]) => {
      const config = args[0] === 'version' ? [] : ['--config', join(folder, 'config.json')];
      const ended = await rosterd([...args, ...config], fakeIo({ cwd: folder, env, clock: systemClock }));
      keep(
        `command-${args
          .slice(0, 2)
          .join('-')
          .replaceAll(/[^a-z-]/g, '_')}`,
        ended.out + ended.err,
      );
      return ended.code;
    };
    await command('wait', '--fresh', '5m', '--timeout', '60s');

    for (const answer of await hostileDeliveries(hook, secret)) keep('refused-delivery', answer);
    await stir();
    for (const action of failures) {
      await control('POST', '/faults', { method: 'GET', path: '/investments', times: 2, action });
      await control('PATCH', `/investments/${ids[0]}`, {
        status: 'executed',
        amounts: { raised_cents: said.length },
      });
      await command('sync');
    }
    await control('DELETE', '/faults');
    await stir();

    for (const path of pages(ids[0] ?? '')) {
      for (const headers of [{}, { authorization: `Bearer ${secrets.CONSOLE}` }]) {
        const answer = await fetch(`http://127.0.0.1:${consolePort}${path}`, { headers, redirect: 'manual' });
        keep('console', `${JSON.stringify([...answer.headers])}\n${await answer.text()}`);
      }
    }
    for (const args of commands(ids[0] ?? '')) await command(...args);
    await command('support-bundle', join(folder, 'support.json'));
    if (own === undefined) await command('backup', join(folder, 'backup.db'));
    await command('export', '--format', 'csv', '--identity', '--out', join(folder, 'asked-for.csv'));
    const investor = investorOf(sandbox, company.token, ids[2] ?? '');
    await command('forget', await investor);
    await command('doctor');
    daemon.kill('SIGTERM');
    await daemon.ended;
    keep('daemon', daemon.printed());
    for (const args of [['sync'], ['status'], ['doctor']]) await command(...args);
    if (own !== undefined) await dumpServer(own.administrator, join(folder, 'server'));
    const rotated = { ...(await signIn.store.read()) };
    await signIn.close();
    return { canaries: canariesOf(sandbox, secret, rotated), said };
  } finally {
    await sink.close();
    await sandbox.close();
  }
}

/** A file, or the vault of the server. */
function storeOf(folder: string, own: OwnDatabase | undefined) {
  if (own === undefined)
    return {
      store: fileCredentials(join(folder, 'credentials.json'), systemClock),
      close: async () => {},
    };
  const reading = (name: string, value: string) =>
    new Secret(name, { env: 'VALUE' }, { env: { VALUE: value }, folder });
  const vault = openVault(
    {
      database: { kind: 'postgres', url: own.url, password: reading('databasePassword', secrets.DATABASE) },
      vault: { folder, keys: [reading('vault.keys[0]', secrets.VAULT)] },
    },
    { clock: systemClock },
  );
  return { store: vaultCredentials(vault, 'sign-in/manager'), close: () => vault.close() };
}

const failures: readonly object[] = [
  { status: 500, body: { error: { message: `failed for ${person.email}` } } },
  { status: 502, body: `<html>${person.name} ${message}</html>` },
  { truncate: 900 },
  { status: 400, body: { error: { code: 'bad', message: `no ${person.legal_name}` } } },
];

const pages = (id: string): string[] => [
  ...['/', '/companies', '/roster', '/roster?sort=committed', `/records/acme/${id}`, '/sql'],
  ...['/status.json', '/metrics', '/livez', '/readyz', '/healthz', '/sign-in', '/nowhere', '/assets/none.js'],
];

const commands = (id: string): string[][] => [
  ...[['status'], ['status', '--json'], ['verify', '--full'], ['doctor', '--json'], ['changes'], ['schema']],
  ...[['changes', '--json'], ['history', id], ['config', 'show'], ['config', 'validate'], ['version']],
  ...[
    ['query', 'SELECT id, status FROM investments'],
    ['query', 'SELECT nothing FROM nowhere'],
  ],
  ...[
    ['export', '--format', 'csv'],
    ['export', '--format', 'jsonl'],
    ['export', '--format', 'founder-csv'],
  ],
  ...[
    ['endpoints', 'list'],
    ['vault', 'status'],
    ['vault', 'rotate'],
    ['endpoints', 'show', 'whe_unknown'],
    ['sync'],
    ['sync', '--source', 'nobody'],
  ],
];

async function hostileDeliveries(url: string, secret: string): Promise<string[]> {
  const body = JSON.stringify({ data: { investor: person, message } });
  const signed = (text: string) => {
    const t = Math.floor(systemClock.now() / 1000);
    return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${text}`).digest('hex')}`;
  };
  const json = { 'content-type': 'application/json' };
  const hostile: { text: string; headers: Record<string, string> }[] = [
    { text: body, headers: json },
    { text: body, headers: { ...json, 'Service-Signature': 't=1,v1=00' } },
    { text: body, headers: { ...json, 'Service-Signature': signed(body) } },
    { text: body, headers: { 'content-type': 'text/plain' } },
    {
      text: `{"x":"${person.email}`,
      headers: { ...json, 'Service-Signature': signed(`{"x":"${person.email}`) },
    },
    { text: `"${person.name.repeat(4_000)}"`, headers: json },
  ];
  const event = JSON.stringify({
    id: 'evt_canary',
    event: person.email,
    created_at: new Date(systemClock.now()).toISOString(),
    mode: 'test',
    installation: { id: person.name, target: null, test: false },
    data: { id: message, visible: true, investor: person },
  });
  hostile.push({ text: event, headers: { ...json, 'Service-Signature': signed(event) } });
  const answers: string[] = [];
  for (const { text, headers } of hostile) {
    const answer = await fetch(url, { method: 'POST', headers, body: text }).catch(() => null);
    answers.push(answer === null ? 'cut off' : `${answer.status} ${await answer.text()}`);
  }
  return answers;
}

function canariesOf(sandbox: Sandbox, hookSecret: string, rotated: Record<string, unknown>): Canary[] {
  const { apps, users, companies } = sandbox.ready;
  const { address, ...plain } = person;
  const all: [string, unknown][] = [
    ...Object.entries({ ...plain, ...address, message }).map(([what, value]): [string, unknown] => [
      `identity: ${what}`,
      value,
    ]),
    ...Object.entries({ ...secrets, HOOK: hookSecret }).map(([what, value]): [string, unknown] => [
      `secret: ${what}`,
      value,
    ]),
    ...companies.flatMap(({ token, tokenWithoutIdentity }): [string, unknown][] => [
      ['secret: token of a source', token],
      ['secret: token of a source', tokenWithoutIdentity],
    ]),
    ...users.flatMap(({ token, liveToken, refreshToken, liveRefreshToken }) =>
      [token, liveToken, refreshToken, liveRefreshToken].map((value): [string, unknown] => [
        'credentials: token of a person',
        value,
      ]),
    ),
    ...apps.flatMap(({ clientSecret, live }): [string, unknown][] => [
      ['secret: client secret', clientSecret],
      ['secret: client secret', live.clientSecret],
    ]),
    ...['accessToken', 'refreshToken'].map((field): [string, unknown] => [
      `credentials: ${field}`,
      rotated[field],
    ]),
  ];
  return all.flatMap(([what, value]) => (typeof value === 'string' && value !== '' ? [{ what, value }] : []));
}

/**
 * Identity may be in the database and in requested output, tokens in the credentials file, and secrets nowhere.
 */
export function mayHold(file: string, { what }: Canary): boolean {
  if (what.startsWith('identity'))
    return /^(?:mirror\.db(?:-wal|-shm)?|backup\.db|asked-for\.csv|server\/rosterd_identity\..*)$/.test(file);
  return what.startsWith('credentials') && file === 'credentials.json';
}

function controlOf({ ready }: Sandbox) {
  return async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await fetch(`${ready.control}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  };
}

async function investorOf({ url }: Sandbox, token: string, id: string): Promise<string> {
  const answer = await fetch(`${url}/investments/${id}`, { headers: { authorization: `Bearer ${token}` } });
  const { data } = (await answer.json()) as { data: { investor: { id: string } } };
  return data.investor.id;
}

/** Receives notices and stores them with their headers, because they go to other machines. */
async function openSink(folder: string) {
  let told = 0;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (body === null) return;
    told += 1;
    const text = `${JSON.stringify(request.headers)}\n${body}`;
    writeFileSync(join(folder, `notice-${told}.txt`), text);
    response.writeHead(told === 1 ? 500 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notices`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
