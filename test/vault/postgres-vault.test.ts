import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { processName } from '../../src/runtime/process-identity.js';
import { backUpPostgres } from '../../src/store/dialect/postgres/backup.js';
import { queryPostgres } from '../../src/store/dialect/postgres/query.js';
import { restorePostgres } from '../../src/store/dialect/postgres/restore.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { type EncryptedVault, openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import {
  type FreshDatabase,
  freshDatabase,
  migratedDatabase,
  postgresUrl,
} from '../postgres/fresh-database.js';
import { giveToOwnRole, rolePassword } from '../postgres/own-role.js';
import { proxyTo } from '../postgres/proxy.js';
import { withClient } from '../postgres/run-databases.js';
import { wayTo } from '../postgres/way-to.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';
import { compiledScript } from '../support/compiled-script.js';

const { signal } = new AbortController();
const canary = 'canary-at_live_vault';
const [first, second] = ['11', '22'].map((byte) => byte.repeat(32)) as [string, string];
let database: FreshDatabase;

beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => run('TRUNCATE rosterd_vault.vault_entries, rosterd_vault.vault_locks'));

const run = (sql: string, url = database.url) =>
  withClient(url, async (client) => (await client.query(sql)).rows as Record<string, unknown>[]);

interface Options {
  readonly keys?: readonly string[];
  readonly url?: string;
  readonly holder?: string;
  readonly isGone?: (holder: string) => boolean;
}

function vaultWith(options: Options = {}): EncryptedVault {
  const { keys = [first], url = database.url, holder = processName(), isGone = () => false } = options;
  const vault = openEncryptedVault({
    entries: openPostgresVault({ kind: 'postgres', url, password: null }, { isGone }),
    keys: keys.map((key, at) => ({ name: `vault.keys[${at}]`, reveal: async () => key })),
    holder,
    clock: systemClock,
    random: testRandom(),
  });
  onTestFinished(() => vault.close());
  return vault;
}

test('encrypted vault: every host reads what one wrote, and the database holds no secret', async () => {
  await vaultWith().write('sign-in/crm', canary);
  await vaultWith().write('installation/inst_1', canary);
  const other = vaultWith();
  expect(await other.read('sign-in/crm')).toBe(canary);
  expect(await other.read('sign-in/none')).toBeNull();
  expect(await other.keys('sign-in/')).toEqual(['sign-in/crm']);
  const rows = await run('SELECT key, key_id, sealed FROM rosterd_vault.vault_entries ORDER BY key');
  expect(rows.map(({ key }) => key)).toEqual(['installation/inst_1', 'sign-in/crm']);
  expect(rows[0]?.sealed).not.toBe(rows[1]?.sealed);
  for (const { sealed } of rows) {
    expect(String(sealed)).not.toContain(canary);
    expect(Buffer.from(String(sealed), 'base64').toString('latin1')).not.toContain(canary);
    expect(Buffer.from(String(sealed), 'base64').length).toBe(12 + canary.length + 16);
  }
  await other.remove('sign-in/crm');
  expect(await vaultWith().read('sign-in/crm')).toBeNull();
});

// Two limits of the program pass in both at the same time, on databases of their own.
test('encrypted vault: an entry is read again after the network dropped the connection without a word, and a lock of another session is reported as one, not as a server that is away', async () => {
  await Promise.all([readAgain(), reportsLock()]);
});

async function readAgain(): Promise<void> {
  await vaultWith().write('sign-in/crm', canary);
  const way = await wayTo(database.url);
  const vault = vaultWith({ url: way.url });
  expect(await vault.read('sign-in/crm')).toBe(canary);
  way.swallow();
  // The driver times out after fifteen seconds.
  await expect(vault.read('sign-in/crm')).rejects.toMatchObject({ code: 'database_busy' });
  await expect.poll(() => vault.read('sign-in/crm').catch(() => 'busy')).toBe(canary);
}

async function reportsLock(): Promise<void> {
  const other = await migratedDatabase();
  onTestFinished(() => other.drop());
  // Far away, so that what the server says arrives later than the end of its own limit.
  const { url } = await proxyTo(other.url, (near, far) => {
    near.pipe(far).on('data', (answer) => void systemClock.wait(200).then(() => near.write(answer)));
  });
  const vault = vaultWith({ url });
  await vault.write('sign-in/crm', canary);
  await withClient(other.url, async (client) => {
    await client.query('BEGIN; LOCK TABLE rosterd_vault.vault_entries');
    // The server refuses after ten seconds.
    await expect(vault.read('sign-in/crm')).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('did not grant a lock in time: another transaction has it (55P03)'),
    });
  });
  expect(await vault.read('sign-in/crm')).toBe(canary);
}

test.each([
  ['another key', { keys: [second] }, '', 'usage', /encrypted with key [0-9a-f]{12}, which is not listed/],
  [
    'a changed row',
    {},
    "SET sealed = overlay(sealed placing 'AAAA' from 20)",
    'database_unusable',
    /does not decrypt/,
  ],
  ['a row cut short', {}, "SET sealed = 'AAAA'", 'database_unusable', /does not decrypt/],
  [
    'a row copied from another entry',
    {},
    "SET sealed = (SELECT sealed FROM rosterd_vault.vault_entries WHERE key = 'sign-in/other')",
    'database_unusable',
    /was changed or copied from another entry/,
  ],
])(
  'encrypted vault: %s is an error that names the entry and no secret',
  async (_, options, change, code, message) => {
    await vaultWith().write('sign-in/crm', canary);
    await vaultWith().write('sign-in/other', `${canary}-other`);
    if (change !== '') await run(`UPDATE rosterd_vault.vault_entries ${change} WHERE key = 'sign-in/crm'`);
    const error = await vaultWith(options)
      .read('sign-in/crm')
      .catch((caught: Error) => caught);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(String(error)).toContain('"sign-in/crm"');
    expect(JSON.stringify([error, (error as Error).message, (error as Error).stack])).not.toContain('canary');
    expect(JSON.stringify(error)).not.toContain(first);
  },
);

test.each([
  ['of another length', ['c2hvcnQ='], 'vault.keys[0]: is not a key'],
  ['listed twice', [first, Buffer.from(first, 'hex').toString('base64')], 'vault.keys[1]: is key'],
])('encrypted vault: a key %s is an error that does not show it', async (_, keys, message) => {
  const error = await vaultWith({ keys })
    .write('sign-in/crm', canary)
    .catch((caught: Error) => caught);
  expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
  for (const key of keys) expect(String(error)).not.toContain(key);
});

test('encrypted vault: two keys at once decrypt, the first encrypts, and slices move every entry to it', async () => {
  for (let at = 0; at < 7; at += 1) await vaultWith().write(`installation/inst_${at}`, `${canary}-${at}`);
  const rotating = vaultWith({ keys: [second, first] });
  expect(await rotating.read('installation/inst_0')).toBe(`${canary}-0`);
  await rotating.write('installation/inst_0', 'new');
  const [keyBefore, keyAfter] = (await rotating.status()).keys;
  expect([keyBefore, keyAfter]).toMatchObject([
    { role: 'first', entries: 1 },
    { role: 'older', entries: 6 },
  ]);
  // One of them was damaged: the others still move.
  await run("UPDATE rosterd_vault.vault_entries SET sealed = 'AAAA' WHERE key = 'installation/inst_2'");
  expect(await rotating.reencrypt(4)).toEqual({
    replaced: 3,
    unreadable: ['installation/inst_2'],
    more: true,
  });
  expect(await rotating.reencrypt(4)).toEqual({ replaced: 2, unreadable: [], more: false });
  expect(await rotating.reencrypt(4)).toEqual({
    replaced: 0,
    unreadable: ['installation/inst_2'],
    more: false,
  });
  const alone = vaultWith({ keys: [second] });
  expect(await alone.read('installation/inst_6')).toBe(`${canary}-6`);
  expect((await alone.status()).keys).toMatchObject([
    { role: 'first', entries: 6 },
    { role: 'missing', entries: 1 },
  ]);
});

test('encrypted vault: a write between two steps of a slice is kept', async () => {
  await vaultWith().write('sign-in/crm', 'old');
  const entries = openPostgresVault(
    { kind: 'postgres', url: database.url, password: null },
    { isGone: () => false },
  );
  onTestFinished(() => entries.close());
  const before = await entries.read('sign-in/crm');
  if (before === null) throw new Error('there is an entry');
  await vaultWith().write('sign-in/crm', 'new');
  expect(await entries.replace(before, { ...before, keyId: 'other' })).toBe(false);
  expect(await vaultWith().read('sign-in/crm')).toBe('new');
});

test('encrypted vault: keys that changed in their file are read again for an entry of an unknown key', async () => {
  await vaultWith({ keys: [second] }).write('sign-in/crm', canary);
  const keys = [first];
  const vault = openEncryptedVault({
    entries: openPostgresVault(
      { kind: 'postgres', url: database.url, password: null },
      { isGone: () => false },
    ),
    keys: [{ name: 'vault.keys[0]', reveal: async () => keys[0] ?? '' }],
    holder: 'host:1:2.3',
    clock: systemClock,
    random: testRandom(),
  });
  onTestFinished(() => vault.close());
  await expect(vault.read('sign-in/crm')).rejects.toMatchObject({ code: 'usage' });
  keys[0] = second;
  expect(await vault.read('sign-in/crm')).toBe(canary);
});

test('encrypted vault: one holder at a time has a lock, over hosts', async () => {
  const vaults = [
    vaultWith({ holder: 'a:1:' }),
    vaultWith({ holder: 'b:2:' }),
    vaultWith({ holder: 'c:3:' }),
  ];
  let holders = 0;
  let most = 0;
  await Promise.all(
    vaults.map((vault) =>
      vault.withLock('sign-in/crm', signal, async (isMine) => {
        most = Math.max(most, ++holders);
        expect(await isMine()).toBe(true);
        await vault.write('sign-in/crm', `${Number(await vault.read('sign-in/crm')) + 1}`);
        holders -= 1;
      }),
    ),
  );
  expect(most).toBe(1);
  expect(await vaults[0]?.read('sign-in/crm')).toBe('3');
  expect(await run('SELECT * FROM rosterd_vault.vault_locks')).toEqual([]);
});

test('encrypted vault: a holder that lost its lock cannot write', async () => {
  const frozen = vaultWith({ holder: 'a:1:' });
  const other = vaultWith({ holder: 'b:2:' });
  await expect(
    frozen.withLock('sign-in/crm', signal, async (isMine) => {
      // It froze for longer than the lock lasts.
      await run("UPDATE rosterd_vault.vault_locks SET expires_at = now() - interval '1 second'");
      await other.withLock('sign-in/crm', signal, () => other.write('sign-in/crm', 'of the other'));
      expect(await isMine()).toBe(false);
      await frozen.write('sign-in/crm', canary);
    }),
  ).rejects.toMatchObject({ code: 'unreachable', message: expect.stringContaining('took over') });
  expect(await other.read('sign-in/crm')).toBe('of the other');
});

test('encrypted vault: the lock of a process that is known to have ended is free at once', async () => {
  await run(
    `INSERT INTO rosterd_vault.vault_locks VALUES ('sign-in/crm', 'dead:1:', 1, now() + interval '1 hour'),
       ('sign-in/two', 'alive:1:', 2, now() + interval '1 hour')`,
  );
  const vault = vaultWith({ isGone: (holder) => holder === 'dead:1:' });
  expect(await vault.withLock('sign-in/crm', signal, (isMine) => isMine())).toBe(true);
  const stopping = new AbortController();
  stopping.abort();
  await expect(vault.withLock('sign-in/two', stopping.signal, async () => {})).rejects.toMatchObject({
    code: 'stopped',
  });
});

test('encrypted vault: a lost connection loses neither an entry nor the lock', async () => {
  const vault = vaultWith();
  const written = vault.withLock('sign-in/crm', signal, async (isMine) => {
    await run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'rosterd-vault' AND datname = current_database()`,
      database.url,
    );
    // The pool notices the loss at a statement or before it; the next one uses a new connection.
    expect(await isMine().catch(() => isMine())).toBe(true);
    await vault.write('sign-in/crm', canary);
  });
  await written;
  expect(await vaultWith().read('sign-in/crm')).toBe(canary);
});

test('encrypted vault: two processes that count under the lock lose no step, also when one is killed', async () => {
  await vaultWith().write('sign-in/count', '0');
  const script = await compiledScript(fileURLToPath(new URL('./counting-process.ts', import.meta.url)));
  const started = (times: number) => {
    const child = fork(script, [database.url, first, String(times)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    return { child, ended: once(child, 'exit') };
  };
  const { child: killed, ended } = started(100_000);
  let counted = 0;
  killed.on('message', () => {
    counted += 1;
  });
  await once(killed, 'message');
  const others = [started(15), started(15)];
  killed.kill('SIGKILL');
  await ended;
  const codes = await Promise.all(others.map(async (other) => (await other.ended)[0] as number));
  expect(codes).toEqual([0, 0]);
  const found = Number(await vaultWith().read('sign-in/count'));
  // The killed one may have written once more than it could report.
  expect([30 + counted, 31 + counted]).toContain(found);
});

test.each(['rosterd_analyst', 'rosterd_identity'])(
  'encrypted vault: the role %s cannot read it',
  async (role) => {
    await vaultWith().write('sign-in/crm', canary);
    for (const table of ['vault_entries', 'vault_locks'])
      await expect(run(`SET ROLE ${role}; SELECT * FROM rosterd_vault.${table}`)).rejects.toMatchObject({
        code: '42501',
      });
  },
);

async function asked(sql: string, identity: boolean, url = database.url): Promise<string> {
  try {
    const limits = { timeoutMs: 30_000, rowsMax: null, identity };
    const { rows } = await queryPostgres(url, sql, limits, systemClock, signal);
    const cells: unknown[] = [];
    for await (const row of rows) cells.push(...row);
    return cells.map(String).join('\n');
  } catch (error) {
    const { message, about } = error as Error & { readonly about?: { readonly hint?: string } };
    return `refused: ${message} ${about?.hint ?? ''}`;
  }
}

test('encrypted vault: no query reads it, masked or not, and no function of a user while names are masked', async () => {
  await vaultWith().write('sign-in/crm', canary);
  const [row] = await run('SELECT sealed FROM rosterd_vault.vault_entries');
  const sealed = String(row?.sealed);
  await run(`CREATE FUNCTION public.peek() RETURNS SETOF text LANGUAGE plpgsql AS
    $$ BEGIN RETURN QUERY EXECUTE 'SELECT sealed FROM rosterd_vault.' || 'vault_entries'; END $$`);
  // A backup through pg_dump would contain it.
  onTestFinished(async () => void (await run('DROP FUNCTION public.peek()')));
  const statements = [
    'SELECT sealed FROM rosterd_vault.vault_entries',
    'SELECT * FROM (TABLE "rosterd_vault".vault_entries) AS t',
    'SELECT (SELECT max(sealed) FROM rosterd_vault.vault_entries)',
    'EXPLAIN ANALYZE SELECT sealed FROM rosterd_vault.vault_entries',
    'EXPLAIN ANALYZE (SELECT sealed::int FROM rosterd_vault.vault_entries)',
    'EXPLAIN (TABLE rosterd_vault.vault_entries)',
    'EXPLAIN (--one\rTABLE rosterd_vault.vault_entries\n)',
    'EXPLAIN (ANALYZE, /* one */ TIMING off) SELECT sealed::int FROM rosterd_vault.vault_entries',
    'EXPLAIN /* 2*3/4 */ ANALYZE SELECT sealed::int FROM rosterd_vault.vault_entries',
    'EXPLAIN /* a /* b */ c */ ANALYZE SELECT sealed::int FROM rosterd_vault.vault_entries',
    'EXPLAIN (ANALYZE, /* /* /**/ */ */ TIMING off) SELECT sealed::int FROM rosterd_vault.vault_entries',
    `EXPLAIN (ANALYZE, FORMAT 'json') SELECT sealed::int FROM rosterd_vault.vault_entries`,
    'SELECT holder FROM rosterd_vault.vault_locks',
  ];
  for (const sql of statements) {
    expect(await asked(sql, true)).toMatch(/^refused: queries do not read the vault/);
    expect(await asked(sql, false)).toMatch(/^refused: /);
  }
  const deep = `EXPLAIN ${'/*'.repeat(9)}${'*/'.repeat(9)} ANALYZE SELECT sealed::int FROM rosterd_vault.vault_entries`;
  expect(await asked(deep, true)).toMatch(/^refused: (?!.*invalid input)/);
  expect(await asked('EXPLAIN ANALYZE SELEC 1', true)).toContain('syntax error at or near "SELEC"');
  expect(await asked('EXPLAIN ANALYZE SELEC 1', true)).toMatch(/^refused: .*syntax error at or near "SELEC"/);
  for (const sql of ['SELECT * FROM peek()', "SELECT query_to_xml('SELECT * FROM peek()', true, true, '')"]) {
    const answer = await asked(sql, false);
    expect(answer).toMatch(/^refused: /);
    expect(answer).not.toContain(sealed);
  }
  // With the rights of the daemon, such a function finds what the server has: ciphertext.
  expect(await asked('SELECT * FROM peek()', true)).not.toContain(canary);
  await run(
    'GRANT USAGE ON SCHEMA rosterd_vault TO rosterd_analyst; GRANT SELECT ON rosterd_vault.vault_entries TO rosterd_analyst',
  );
  expect(await asked('SELECT 1', false)).toContain('rosterd_analyst may read rosterd_vault.vault_entries');
  await run(
    'REVOKE ALL ON rosterd_vault.vault_entries FROM rosterd_analyst; REVOKE ALL ON SCHEMA rosterd_vault FROM rosterd_analyst',
  );
  expect(await asked('SELECT 1', false)).toBe('1');
});

test('encrypted vault: a role of its own takes the vault away from queries of the login', async () => {
  const own = await migratedDatabaseOfOwnRole();
  const login = new URL(own.url).username;
  await withClient(await postgresUrl(), async (client) => {
    await client.query("SELECT pg_advisory_lock(hashtext('rosterd_vault role'))");
    await client.query(
      "DO $$ BEGIN IF to_regrole('rosterd_vault') IS NULL THEN CREATE ROLE rosterd_vault NOLOGIN; END IF; END $$",
    );
    await client.query(`GRANT rosterd_vault TO ${login} WITH INHERIT FALSE`);
  });
  const url = withPassword(own.url);
  const vault = vaultWith({ url });
  await vault.withLock('sign-in/crm', signal, () => vault.write('sign-in/crm', canary));
  expect(await vault.read('sign-in/crm')).toBe(canary);
  await run(
    "CREATE FUNCTION public.peek() RETURNS SETOF text LANGUAGE sql AS 'SELECT sealed FROM rosterd_vault.vault_entries'",
    own.administrator,
  );
  expect(await asked('SELECT * FROM peek()', true, url)).toContain('permission denied');
});

async function migratedDatabaseOfOwnRole() {
  const fresh = await freshDatabase();
  const own = await giveToOwnRole(fresh.url);
  onTestFinished(async () => {
    await fresh.drop();
    await own.dropRole(await postgresUrl());
  });
  return own;
}

function withPassword(text: string): string {
  const url = new URL(text);
  url.password = encodeURIComponent(rolePassword);
  return url.href;
}

test.each([
  ['pg_dump', process.env],
  ['COPY', { PATH: '/nowhere' }],
])('encrypted vault: a backup through %s leaves it out, and a restore leaves it as it is', async (_, env) => {
  await vaultWith().write('sign-in/crm', canary);
  const file = join(tempFolder(), 'mirror.backup');
  const place = { kind: 'postgres', url: database.url, password: null } as const;
  const made = await backUpPostgres(place, file, { clock: systemClock, env, version: '0.1.0', signal });
  expect(made.tables.map(({ table }) => table).filter((table) => table.startsWith('vault'))).toEqual([]);
  expect((await readFile(file)).includes('vault_entries')).toBe(false);
  const empty = await freshDatabase();
  onTestFinished(() => empty.drop());
  for (const url of [database.url, empty.url]) {
    const times = { clock: systemClock, leaseMs: 30_000 };
    const parts = { ...times, env, version: '0.1.0', signal, force: true, identity: 'keep' } as const;
    const hooks = { prepare: async () => {}, remember: () => [] };
    await restorePostgres(file, { kind: 'postgres', url, password: null }, parts, hooks);
  }
  expect(await vaultWith().read('sign-in/crm')).toBe(canary);
  expect(await vaultWith({ url: empty.url }).read('sign-in/crm')).toBeNull();
  // As after pg_restore of a dump without the schema: the mirror is there and the vault is not.
  await run('DROP SCHEMA rosterd_vault CASCADE', empty.url);
  const vaults = [vaultWith({ url: empty.url }), vaultWith({ url: empty.url })];
  await Promise.all(vaults.map((vault, at) => vault.write(`sign-in/crm-${at}`, canary)));
  expect(await vaults[0]?.keys('')).toEqual(['sign-in/crm-0', 'sign-in/crm-1']);
  const comments = `SELECT obj_description('rosterd_vault.vault_entries'::regclass) AS entries,
    obj_description('rosterd_vault.vault_locks'::regclass) AS locks`;
  expect(await run(comments, empty.url)).toEqual(await run(comments));
});
