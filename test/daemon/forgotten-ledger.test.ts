import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { sqliteFileOf } from '../../src/config/database.js';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { forget, liftForgotten, personOrInvestment } from '../../src/tasks/forget.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { openRaw } from '../support/open-raw.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const ledgerModule = join(packageRoot, 'src/daemon/forgotten-ledger.ts');
const never = new AbortController().signal;
const nothing = { resync: false, acceptDeletions: false };

async function world() {
  const config = configFor(await sandboxFor({ records: 60, companies: 1 }), { folder: freshFolder() });
  const sync = (ask = nothing) => syncOnce(partsFor(config), ask, never);
  await sync();
  const ids = (sql: string) => {
    // Open only during the query, because the test replaces the file.
    const reader = new Sqlite(sqliteFileOf(config.database), { readonly: true });
    const found = reader.prepare<[], string>(sql).pluck().all();
    reader.close();
    return found;
  };
  const copy = `${sqliteFileOf(config.database)}.copy`;
  return {
    config,
    sync,
    ids,
    investor: personOrInvestment(
      ids('SELECT investor_id FROM roster WHERE investor_id IS NOT NULL AND name IS NOT NULL LIMIT 1')[0] ??
        '',
    ),
    named: (investor: string) =>
      ids(`SELECT id FROM roster WHERE investor_id = '${investor}' AND name IS NOT NULL`),
    backUp: () => copyFileSync(sqliteFileOf(config.database), copy),
    restore: () => {
      for (const suffix of ['-wal', '-shm']) rmSync(sqliteFileOf(config.database) + suffix, { force: true });
      copyFileSync(copy, sqliteFileOf(config.database));
    },
  };
}

/** Opens the mirror as the daemon does, without a tick. */
async function openOnce(config: Config): Promise<void> {
  const ledger = new ForgottenLedger(config.forget.ledger);
  const parts = { clock: systemClock, logger: silentLogger, identity: 'keep', ledger } as const;
  await (await openMirror(config.database, parts)).close();
}

test('a restored database backup brings back no forgotten person, neither before the first tick nor after a listing', async () => {
  const { config, sync, ids, investor, named, backUp, restore } = await world();
  backUp();
  expect(named(investor)).not.toEqual([]);
  await forget(config, investor, systemClock, never);
  restore();
  expect(named(investor)).not.toEqual([]);
  const migrationCopy = `${sqliteFileOf(config.database)}.schema-0001.bak`;
  copyFileSync(sqliteFileOf(config.database), migrationCopy);

  await openOnce(config);
  expect(named(investor)).toEqual([]);
  expect(ids("SELECT id FROM erasures WHERE cause = 'forget'")).toEqual([investor]);
  expect(() => statSync(migrationCopy)).toThrow(/ENOENT/);
  await sync({ resync: true, acceptDeletions: false });
  expect(named(investor)).toEqual([]);
  expect(ids('SELECT id FROM identities')).not.toEqual([]);

  const ledger = readFileSync(config.forget.ledger, 'utf8');
  expect(ledger).toMatch(new RegExp(`^\\{"id":"${investor}","event":"forgotten","at":"20[^"]+Z"\\}\\n$`));
  expect(statSync(config.forget.ledger).mode & 0o777).toBe(0o600);
});

test('a new mirror never stores people of the ledger; a backup from before a lift does not forget again', async () => {
  const { config, sync, investor, named, backUp, restore } = await world();
  await forget(config, investor, systemClock, never);
  for (const suffix of ['', '-wal', '-shm']) rmSync(sqliteFileOf(config.database) + suffix, { force: true });
  await sync();
  expect(named(investor)).toEqual([]);
  backUp();
  expect(await liftForgotten(config, investor, systemClock, never)).toBe(true);
  restore();
  await sync({ resync: true, acceptDeletions: false });
  expect(named(investor)).not.toEqual([]);
});

test('a lift holds for a host whose own ledger says forgotten, and ends with a later request', async () => {
  const { config, sync, ids, investor, named, backUp, restore } = await world();
  backUp();
  await forget(config, investor, systemClock, never);
  const otherHost = { ...config, forget: { ledger: join(freshFolder(), 'forgotten.jsonl') } };
  const yearAhead = { ...systemClock, now: () => systemClock.now() + 365 * 86_400_000 };
  expect(await liftForgotten(otherHost, investor, yearAhead, never)).toBe(true);
  await sync({ resync: true, acceptDeletions: false });
  expect(named(investor)).not.toEqual([]);
  await openOnce(config);
  expect(named(investor)).not.toEqual([]);
  restore();
  await openOnce(config);
  expect(named(investor)).not.toEqual([]);

  await forget(config, investor, systemClock, never);
  // The clock of the host that lifted it was ahead of this later request.
  await openOnce(otherHost);
  expect(ids('SELECT id FROM forgotten')).toEqual([investor]);
  restore();
  await openOnce(config);
  expect(named(investor)).toEqual([]);
});

test('ids forgotten before there was a ledger are added to it', async () => {
  const { config, investor } = await world();
  await forget(config, investor, systemClock, never);
  const before = readFileSync(config.forget.ledger, 'utf8');
  rmSync(config.forget.ledger);
  await openOnce(config);
  expect(readFileSync(config.forget.ledger, 'utf8')).toBe(before);
  await openOnce(config);
  expect(readFileSync(config.forget.ledger, 'utf8')).toBe(before);
});

test('an erasure fails when the ledger cannot be written', async () => {
  const { config, investor, named, ids } = await world();
  const folder = join(freshFolder(), 'a file');
  writeFileSync(folder, '');
  const blocked = { ...config, forget: { ledger: join(folder, 'forgotten.jsonl') } };
  await expect(forget(blocked, investor, systemClock, never)).rejects.toThrow(/forgotten\.jsonl cannot be/);
  expect(named(investor)).not.toEqual([]);
  expect(ids('SELECT id FROM forgotten')).toEqual([]);
});

test('`forget` retries while another process writes', async () => {
  const { config, investor, named } = await world();
  const other = openRaw(sqliteFileOf(config.database));
  other.exec('BEGIN IMMEDIATE');
  let turns = 0;
  const clock: Clock = {
    ...systemClock,
    wait: async () => {
      turns += 1;
      if (other.inTransaction) other.exec('COMMIT');
      other.close();
    },
  };
  expect(await forget(config, investor, clock, never)).toMatchObject({
    already: false,
    pending: 0,
    bytes: 'scrubbed',
  });
  expect(turns).toBeGreaterThan(0);
  expect(named(investor)).toEqual([]);
});

test.skipIf(process.platform !== 'linux')('a ledger on a full disk says what to do about it', () => {
  const entry = {
    id: 'usr_1' as never,
    event: 'forgotten',
    at: '2026-10-20T12:00:00.000Z' as never,
  } as const;
  expect(() => new ForgottenLedger('/dev/full').add([entry])).toThrow(
    expect.objectContaining({ code: 'database_full', message: '/dev/full cannot be written (ENOSPC)' }),
  );
});

test('the ledger fails when the disk takes only half of a line', () => {
  const file = join(freshFolder(), 'forgotten.jsonl');
  const blocks = 1024;
  const line = `${JSON.stringify({ id: 'usr_1', event: 'forgotten', at: '2026-10-20T12:00:00.000Z' })}\n`;
  const lines = Math.floor((blocks * 512) / line.length);
  writeFileSync(file, line.repeat(lines));
  // A file size limit behaves like a full disk: the first write is short and reports no error.
  const add = `import(${JSON.stringify(ledgerModule)}).then(({ ForgottenLedger }) => {
    new ForgottenLedger(${JSON.stringify(file)}).add([{ id: 'usr_2', event: 'forgotten', at: '2026-10-20T12:00:00.000Z' }]);
  }).then(() => console.log('written'), (error) => console.log(error.message));`;
  const limited = [
    '-c',
    `ulimit -f ${blocks}; exec "$@"`,
    'sh',
    process.execPath,
    '--import',
    'tsx',
    '-e',
    add,
  ];
  const { stdout } = spawnSync('sh', limited, { encoding: 'utf8', cwd: packageRoot });
  expect(stdout).toBe(`${file} cannot be written (EFBIG)\n`);
  expect([...new ForgottenLedger(file).read().keys()]).toEqual(['usr_1']);
});

// Only root can take a file away from the user of the daemon.
test.skipIf(process.geteuid?.() !== 0)(
  'a ledger that root begins belongs to the user of its folder, which the daemon has to read',
  () => {
    const folder = freshFolder();
    chownSync(folder, 65_534, 65_534);
    const at = '2026-10-20T12:00:00.000Z' as never;
    for (const file of [join(folder, 'forgotten.jsonl'), join(folder, 'ledger', 'forgotten.jsonl')]) {
      new ForgottenLedger(file).add([{ id: personOrInvestment('usr_1'), event: 'forgotten', at }]);
      const owned = [dirname(file), file].map((path) => statSync(path).uid);
      expect(owned).toEqual([65_534, 65_534]);
    }
  },
);
