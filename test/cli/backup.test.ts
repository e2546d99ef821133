import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { backUpSqlite } from '../../src/store/dialect/sqlite/backup.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { canonicalDump } from '../store/canonical-dump.js';
import { testRandom } from '../support/chance.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
const mirror = () => join(world.folder, 'mirror.db');
const at = (name: string) => join(world.folder, name);

beforeAll(async () => {
  world = await filledMirror(60);
  await world.sync();
  await world.control('POST', '/churn', { changes: 20 });
  await world.sync();
  // Restores that replace the mirror with what it was start from copies of this one.
  expect((await world.run(['backup', 'made.db'])).code).toBe(0);
});

afterAll(() => world.close());

const dumpOf = async (file: string) => {
  const sqlite = openSqlite(file, { readonly: true });
  try {
    return await canonicalDump({ kind: 'sqlite', sqlite });
  } finally {
    sqlite.close();
  }
};

const one = (file: string, sql: string): unknown => {
  const raw = new Sqlite(file, { readonly: true });
  try {
    return raw.prepare(sql).pluck().get();
  } finally {
    raw.close();
  }
};

const configured = () =>
  loadConfig({ file: at('config.json'), cwd: world.folder, env: { ACME: world.company.token } });

/** Starts a daemon in this process, without a console unless asked for. */
async function daemonOn(console: object | null = null) {
  const file = at('config.json');
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(before), console }));
  const { config } = configured();
  writeFileSync(file, before);
  const daemon = await startDaemon({
    config,
    clock: systemClock,
    random: testRandom(),
    logger: silentLogger,
  });
  onTestFinished(() => daemon.close());
  await daemon.engine.sync.idle();
  return daemon;
}

describe('rosterd backup', () => {
  test('backup writes one private file with the content of the mirror, and verifies it', async () => {
    const { code, out, err } = await world.run(['backup', 'copy.db', '--json']);
    expect([code, err]).toEqual([0, expect.stringContaining('contains names')]);
    const made = JSON.parse(out);
    expect(made).toMatchObject({ file: at('copy.db'), format: 'sqlite', note: null });
    expect(made.tables.find(({ table }: { table: string }) => table === 'investment_rows')).toEqual({
      table: 'investment_rows',
      rows: one(mirror(), 'SELECT count(*) FROM investment_rows'),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(statSync(at('copy.db')).mode & 0o777).toBe(0o600);
    expect(readdirSync(world.folder).filter((name) => name.includes('copy.db'))).toEqual(['copy.db']);
    expect(await dumpOf(at('copy.db'))).toEqual(await dumpOf(mirror()));
    expect(one(at('copy.db'), 'SELECT count(*) FROM leases')).toBe(0);
  });

  test('backup names both files when the copy of a page fails, because SQLite does not say whose disk failed', async () => {
    const failed = new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR');
    const copying = vi.spyOn(Sqlite.prototype, 'backup').mockRejectedValue(failed);
    onTestFinished(() => copying.mockRestore());
    const { signal } = new AbortController();
    const parts = { clock: systemClock, env: {}, version: '1.0.0', signal };
    await expect(backUpSqlite(mirror(), at('failed.db'), parts)).rejects.toMatchObject({
      code: 'database_busy',
      message: `${mirror()} could not be copied to ${at('failed.db')} (SQLITE_IOERR)`,
    });
  });

  test('backup refuses to overwrite a file without --force, and never overwrites the mirror', async () => {
    writeFileSync(at('taken.db'), 'mine');
    const refused = await world.run(['backup', 'taken.db']);
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringMatching(/taken\.db exists\nTry: .*--force/),
    ]);
    expect(readFileSync(at('taken.db'), 'utf8')).toBe('mine');
    expect((await world.run(['backup', 'taken.db', '--force'])).code).toBe(0);
    expect(one(at('taken.db'), 'SELECT count(*) FROM backup_proof')).toBe(1);
    const own = await world.run(['backup', 'mirror.db', '--force']);
    expect([own.code, own.err]).toEqual([2, expect.stringContaining('is the mirror itself')]);
    const settings = await world.run(['backup', 'config.json', '--force']);
    expect([settings.code, settings.err]).toEqual([2, expect.stringContaining('is the configuration\n')]);
  });

  test('backup --force does not replace a pipe by a file', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    const { code, err } = await world.run(['backup', 'pipe', '--force']);
    expect([code, err]).toEqual([2, expect.stringContaining('is not an ordinary file')]);
    expect(statSync(at('pipe')).isFIFO()).toBe(true);
    rmSync(at('pipe'));
  });

  test('backup into a folder names the file by the mirror and the time', async () => {
    const { code, out } = await world.run(['backup', '.', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out).file).toMatch(/\/mirror-\d{8}T\d{6}Z\.db$/);
    // A missing one is created: it ends with a slash, so it is no file.
    const created = await world.run(['backup', 'missing/', '--json']);
    expect(JSON.parse(created.out).file).toMatch(/\/missing\/mirror-\d{8}T\d{6}Z\.db$/);
    expect(statSync(at('missing')).mode & 0o777).toBe(0o700);
  });

  test('backup leaves nothing that SQLite would apply to the new file of what was beside the old one', async () => {
    const file = at('beside.db');
    await world.run(['backup', 'beside.db']);
    const before = new Sqlite(file);
    before.pragma('journal_mode = WAL');
    before.exec("UPDATE sources SET name = 'older'");
    // As a program that is killed leaves it.
    const log = readFileSync(`${file}-wal`);
    before.close();
    writeFileSync(`${file}-wal`, log);
    expect((await world.run(['backup', '--force', 'beside.db'])).code).toBe(0);
    expect(one(file, 'SELECT name FROM sources')).toBe('acme');
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  test('backup reports a folder it cannot write to, and a mirror that does not exist', async () => {
    writeFileSync(at('file'), '');
    const nowhere = await world.run(['backup', 'file/copy.db']);
    expect([nowhere.code, nowhere.err]).toEqual([
      2,
      expect.stringMatching(/cannot write to .*file \(\w+\)\nTry: /),
    ]);
    const absent = await world.run(['backup', 'copy2.db', '--database', 'absent.db']);
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining('absent.db holds no mirror yet')]);
    expect(existsSync(at('copy2.db'))).toBe(false);
  });

  test('a backup contains every commit from before it began, while a writer commits all the time', async () => {
    const writer = new Sqlite(mirror());
    let written = 0;
    const commits = setInterval(() => {
      written += 1;
      writer.exec(
        `UPDATE budgets SET spent = spent; INSERT OR REPLACE INTO budgets (token, window_start, spent, blocked_until) VALUES ('t${written}', 'x', 1, NULL)`,
      );
    }, 1);
    onTestFinished(() => {
      clearInterval(commits);
      writer.exec("DELETE FROM budgets WHERE window_start = 'x'");
      writer.close();
    });
    await expect.poll(() => written).toBeGreaterThan(5);
    const before = written;
    const { code } = await world.run(['backup', 'busy.db', '--force']);
    expect(code).toBe(0);
    expect(written).toBeGreaterThan(before);
    expect(
      Number(one(at('busy.db'), "SELECT count(*) FROM budgets WHERE window_start = 'x'")),
    ).toBeGreaterThanOrEqual(before);
    expect(one(at('busy.db'), 'PRAGMA integrity_check')).toBe('ok');
  });
});

describe('rosterd restore', () => {
  const restoreTo = (database: string, ...args: string[]) =>
    world.run(['restore', ...args, '--set', `database=sqlite:${database}`]);

  test('restore gives back what the backup contained, and the daemon continues from its cursor', async () => {
    await world.run(['backup', 'before.db', '--force']);
    const content = await dumpOf(mirror());
    const { code, out, err } = await restoreTo('./restored.db', 'before.db');
    expect([code, err]).toEqual([0, expect.stringContaining('Next: start rosterd')]);
    expect(out).toMatch(/restored\.db: [\d,]+ rows restored from the backup of 20\d\d-/);
    expect(await dumpOf(at('restored.db'))).toEqual(content);
    expect(one(at('restored.db'), "SELECT count(*) FROM sqlite_schema WHERE name = 'backup_proof'")).toBe(0);
    expect(statSync(at('restored.db')).mode & 0o777).toBe(0o600);
    expect(readdirSync(world.folder).filter((name) => name.startsWith('.'))).toEqual([]);
    await world.control('POST', '/churn', { changes: 5 });
    const synced = await world.run(['sync', '--json', '--set', 'database=sqlite:./restored.db']);
    expect(JSON.parse(synced.out)).toMatchObject([{ mode: 'delta', outcome: 'done' }]);
  });

  test('restore refuses an existing mirror without --force', async () => {
    copyFileSync(at('made.db'), at('again.db'));
    await restoreTo('./there.db', 'again.db');
    const refused = await restoreTo('./there.db', 'again.db');
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringMatching(/already holds a mirror\nTry: .*--force/),
    ]);
    expect((await restoreTo('./there.db', 'again.db', '--force')).code).toBe(0);
  });

  test('restore --force leaves nothing of the replaced mirror beside the new one', async () => {
    copyFileSync(at('made.db'), at('beside.db'));
    expect((await restoreTo('./beside/mirror.db', 'beside.db')).code).toBe(0);
    expect((await world.run(['sync', '--set', 'database=sqlite:./beside/mirror.db'])).code).toBe(0);
    // As a killed process leaves it.
    writeFileSync(at('beside/mirror.db-shm'), 'the index of a log');
    expect((await restoreTo('./beside/mirror.db', 'beside.db', '--force')).code).toBe(0);
    expect(readdirSync(at('beside'))).toEqual(['mirror.db']);
  });

  test('someone forgotten after the backup was made stays forgotten, and no byte of the name comes back', async () => {
    copyFileSync(at('made.db'), at('names.db'));
    const [person, name] = (() => {
      const raw = new Sqlite(mirror(), { readonly: true });
      const row = raw
        .prepare<[], [string, string]>(
          'SELECT i.investor_id, p.email FROM investments i JOIN identities p USING (source, id) WHERE p.email IS NOT NULL AND i.investor_id IS NOT NULL LIMIT 1',
        )
        .raw()
        .get();
      raw.close();
      return row ?? ['', ''];
    })();
    expect((await world.run(['forget', person])).code).toBe(0);
    expect(readFileSync(at('names.db')).includes(name)).toBe(true);
    const { code, out } = await restoreTo('./erased.db', 'names.db');
    expect([code, out]).toEqual([0, expect.stringContaining('1 forget request applied again')]);
    expect(readFileSync(at('erased.db')).includes(name)).toBe(false);
    // A mirror whose ledger was lost still tells whom it had forgotten.
    const other = ['--set', 'forget.ledger=./other.jsonl'];
    await world.run(['restore', '--force', 'names.db', '--set', 'database=sqlite:./erased.db', ...other]);
    expect(readFileSync(at('erased.db')).includes(name)).toBe(false);
    expect(readFileSync(at('other.jsonl'), 'utf8')).toContain(person);
    await world.run(['forget', person, '--lift']);
  });

  test('restore: someone forgotten again by another host after a lift stays forgotten', async () => {
    copyFileSync(at('made.db'), at('again-forgotten.db'));
    const person = String(
      one(
        mirror(),
        'SELECT investor_id FROM roster WHERE email IS NOT NULL AND investor_id IS NOT NULL LIMIT 1',
      ),
    );
    const named = () => one(mirror(), `SELECT count(email) FROM roster WHERE investor_id = '${person}'`);
    await world.run(['forget', person]);
    await world.run(['forget', person, '--lift']);
    await world.run(['forget', person, '--set', 'forget.ledger=./other-host.jsonl']);
    const { code } = await world.run(['restore', '--force', 'again-forgotten.db']);
    expect([code, named()]).toEqual([0, 0]);
    await world.run(['forget', person, '--lift']);
  });

  test('restore leaves the mirror to its owner and to the group that may read it', async () => {
    copyFileSync(at('made.db'), at('owned.db'));
    const { gid, uid } = statSync(mirror());
    // Only root can give a file away, as a restore with sudo has to.
    const owner = process.geteuid?.() === 0 ? 65_534 : uid;
    for (const mode of [0o640, 0o600]) {
      chmodSync(mirror(), mode);
      chownSync(mirror(), owner, gid);
      expect((await world.run(['restore', '--force', 'owned.db'])).code).toBe(0);
      const after = statSync(mirror());
      expect([after.uid, after.gid, after.mode & 0o777]).toEqual([owner, gid, mode]);
    }
    chownSync(mirror(), uid, gid);
  });

  // Only root can take a file away from the user of the daemon.
  test.skipIf(process.geteuid?.() !== 0)(
    'restore of a lost mirror leaves the new one to the user of its folder',
    async () => {
      copyFileSync(at('made.db'), at('lost.db'));
      const folder = at('data');
      mkdirSync(folder);
      chownSync(folder, 65_534, 65_534);
      for (const place of ['mirror.db', 'new/mirror.db']) {
        const { code } = await world.run(['restore', 'lost.db', '--set', `database=sqlite:./data/${place}`]);
        const { uid, mode } = statSync(join(folder, place));
        expect([code, uid, mode & 0o777]).toEqual([0, 65_534, 0o600]);
      }
      expect(statSync(join(folder, 'new')).uid).toBe(65_534);
    },
  );

  test('restore refuses while a daemon follows the mirror, with and without its console', async () => {
    copyFileSync(at('made.db'), at('while.db'));
    for (const console of [{ listen: '127.0.0.1:0' }, null]) {
      const daemon = await daemonOn(console);
      const { code, err } = await world.run(['restore', '--force', 'while.db']);
      expect([code, err]).toEqual([1, expect.stringMatching(/uses .*mirror\.db|is in use/)]);
      await daemon.close();
    }
    expect((await world.run(['restore', '--force', 'while.db'])).code).toBe(0);
  });

  test('restore refuses while another program has the file open, and leaves the mirror as it was', async () => {
    await world.sync();
    await world.run(['backup', 'open.db', '--force']);
    const program = `const db = new (require('better-sqlite3'))(process.argv[1], { readonly: true });
      db.prepare('SELECT count(*) FROM investments').get(); console.log('open'); setInterval(() => {}, 1e6);`;
    const reader = spawn(process.execPath, ['-e', program, mirror()], { cwd: packageRoot });
    onTestFinished(() => {
      reader.kill('SIGKILL');
    });
    await once(reader.stdout, 'data');
    const { code, err } = await world.run(['restore', '--force', 'open.db']);
    const who = process.platform === 'linux' ? `node (process ${reader.pid})` : 'another program';
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(`mirror.db is in use by ${who}\nTry: The mirror is as it was.`),
    ]);
    reader.kill('SIGKILL');
    await once(reader, 'exit');
    expect((await world.run(['status', '--check'])).code).toBe(0);
  });

  test('restore refuses a damaged backup before it touches the mirror', async () => {
    copyFileSync(at('made.db'), at('sound.db'));
    const content = await dumpOf(mirror());
    const bytes = readFileSync(at('sound.db'));
    writeFileSync(at('cut.db'), bytes);
    truncateSync(at('cut.db'), Math.floor(bytes.length / 2));
    const email = String(one(at('sound.db'), 'SELECT email FROM identities WHERE email IS NOT NULL LIMIT 1'));
    const changed = Buffer.from(bytes);
    changed.write('X', changed.indexOf(email));
    writeFileSync(at('changed.db'), changed);
    writeFileSync(at('other.db'), 'no database');
    for (const [file, words] of [
      ['cut.db', /is damaged/],
      ['changed.db', /differs: \d+ rows expected, \d+ found with other content/],
      ['other.db', /other\.db is not a SQLite database\nTry: Name a backup/],
      ['nowhere.db', /nowhere\.db is not a backup: the file is missing/],
      ['mirror.db', /is the mirror itself/],
    ] as const) {
      const before = statSync(mirror()).ino;
      const { code, err } = await world.run(['restore', '--force', file]);
      expect([file, code === 0, err]).toEqual([file, false, expect.stringMatching(words)]);
      expect(statSync(mirror()).ino).toBe(before);
    }
    expect(await dumpOf(mirror())).toEqual(content);
  });

  test('restore --force over a damaged mirror keeps the damaged file beside it', async () => {
    copyFileSync(at('made.db'), at('good.db'));
    const broken = Buffer.from(readFileSync(at('good.db')));
    broken.fill(0x55, 4_096, 40_960);
    broken.fill(0x55, 100, 4_096);
    writeFileSync(at('broken.db'), broken, { mode: 0o600 });
    const { code, out } = await restoreTo('./broken.db', '--force', 'good.db');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /the damaged file is now .*broken\.db\.damaged-\d{8}T\d{6}Z and still contains names/,
      ),
    ]);
    expect(one(at('broken.db'), 'PRAGMA integrity_check')).toBe('ok');
  });

  test('a copy made by other means is restored with a warning that its rows were not compared, and without what operators had requested', async () => {
    const raw = new Sqlite(mirror());
    raw.exec(`VACUUM INTO '${at('vacuumed.db')}'`);
    raw.close();
    const copy = new Sqlite(at('vacuumed.db'));
    copy.exec("INSERT INTO operator_requests VALUES ('c', 'resync', '', '', '', NULL)");
    copy.close();
    const { code, err } = await restoreTo('./from-vacuum.db', 'vacuumed.db');
    expect(one(at('from-vacuum.db'), 'SELECT count(*) FROM operator_requests')).toBe(0);
    expect([code, err]).toEqual([0, expect.stringContaining('was not made by rosterd backup')]);
  });
});
