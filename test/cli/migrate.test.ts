import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { processName } from '../../src/runtime/process-identity.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { DeliveryJournal } from '../../src/store/dialect/sqlite/delivery-journal.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { leftBehind, migratedTables } from '../../src/store/migrate-data/migrated-tables.js';
import { freshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { canonicalDump } from '../store/canonical-dump.js';
import { tempFolder } from '../store/temp-folder.js';
import { openRaw } from '../support/open-raw.js';
import { fakeIo, rosterd } from './fake-io.js';
import { type FilledPostgres, filledPostgres, password } from './filled-postgres.js';

/** The configuration of the test world names PostgreSQL; the mirror starts in a file. */
let world: FilledPostgres;
let file: string;
const secretTo = () => {
  const url = new URL(world.url);
  url.password = encodeURIComponent(password);
  return url.href;
};
const odd = 'tab\tline\nreturn\r back\\slash \\N \\. \b\v\f "quote" \u{1F600} Жук 한글';

beforeAll(async () => {
  world = await filledPostgres(40, freshDatabase);
  file = join(world.folder, 'mirror.db');
  world.configure({ database: 'sqlite:./mirror.db', databasePassword: undefined });
  await world.sync();
  await world.control('POST', '/churn', { changes: 30 });
  await world.sync();
  world.configure({ database: world.url, databasePassword: { env: 'DB_PASSWORD' } });
  fillEveryTable(file);
});

afterAll(() => world.close());

/** Adds what a young mirror does not have: a running re-listing, anomalies and queued work. */
function fillEveryTable(path: string): void {
  const raw = new Sqlite(path);
  const at = '2026-01-01T00:00:00.000Z';
  const add = (sql: string, ...values: unknown[]) => raw.prepare(sql).run(...values);
  add("INSERT INTO sources (name, fingerprint) VALUES ('beta', ?)", odd);
  add(
    "INSERT INTO listings (source_no, kind, generation, token, started_at, rows) VALUES (2, 'first', 1, ?, ?, 9007199254740993)",
    odd,
    at,
  );
  add('INSERT INTO sweeps (source_no, cursor) VALUES (2, ?)', odd);
  add(
    `INSERT INTO staged_rows (source_no, id, row_no, status, needs_whitelisting, visible, investor_deactivated, via_entity,
       blockers, contracts, observed_at, identity, committed_cents)
     SELECT source_no, id, row_no, ?, 0, 1, 0, 0, '[]', '[]', observed_at, ?, 9007199254740991 FROM investment_rows LIMIT 1`,
    odd,
    JSON.stringify({ name: odd }),
  );
  add("INSERT INTO staged_pages (source_no, page, seen) VALUES (1, 1, '[1,2,3]'), (1, 2, '[]')");
  add(
    'INSERT INTO awaiting_deletion_rows SELECT max(row_no), source_no, 1, ? FROM investment_rows WHERE source_no = 1',
    at,
  );
  add('UPDATE sources SET awaiting_deletion = 1 WHERE no = 1');
  add('INSERT INTO quarantine_rows (source_no, problem, body, seen_at) VALUES (1, ?, ?, ?)', odd, odd, at);
  for (const [table, history] of [
    ['company_rows', 'company_history_rows'],
    ['offering_rows', 'offering_history_rows'],
  ] as const)
    add(`INSERT INTO ${history} SELECT 7, *, '${at}', 'update' FROM ${table} LIMIT 1`);
  add(
    "INSERT INTO drift_rows (source_no, field, times, first_seen, last_seen) VALUES (1, 'Z', 1, ?, ?), (1, 'a', 2, ?, ?)",
    at,
    at,
    at,
    at,
  );
  add(
    "INSERT INTO webhook_inbox (event_id, installation, event, received_at, body) VALUES ('e', 'i', 'x', ?, ?)",
    at,
    odd,
  );
  add(
    "INSERT INTO notice_rows (source_no, seq, target, body, queued_at, next_at) VALUES (1, 1, 't', ?, ?, ?)",
    odd,
    at,
    at,
  );
  add("INSERT OR REPLACE INTO budgets (token, window_start, spent) VALUES ('digest', ?, 7)", at);
  add("INSERT INTO erasures (source_no, id, cause, invisible_at) VALUES (1, 'inv_gone', 'tombstone', ?)", at);
  add("INSERT INTO forgotten (id, forgotten_at) VALUES ('usr_forgotten', ?)", at);
  add(
    "INSERT INTO audit_log (at, actor, role, action, outcome, rows_seen) VALUES (?, 'token:ana', 'analyst', 'query', 'done', 3)",
    at,
  );
  add(
    "INSERT INTO operator_requests (source, kind, actor, role, asked_at) VALUES ('elsewhere', 'resync', 'token:oleg', 'operator', ?)",
    at,
  );
  add(
    `INSERT INTO followed_sources (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
     VALUES ('elsewhere', 'crm', 'live', 'company', 'co_2', 'inst_2', 'connected', 1, ?)`,
    at,
  );
  add('INSERT INTO followed_revision (one, revision) VALUES (1, 3)');
  add("INSERT INTO pauses (source, paused_at) VALUES ('elsewhere', ?)", at);
  add("INSERT INTO open_alerts (key, kind, text, since) VALUES ('backup', 'backup', ?, ?)", odd, at);
  add("INSERT INTO after_sync_rows (hook, done_seq, tried_seq, last_error) VALUES ('dbt', 1, 2, ?)", odd);
  add(
    "INSERT INTO alert_rows (key, source, target, body, queued_at, next_at) VALUES ('backup', '', 't', ?, ?, ?)",
    odd,
    at,
    at,
  );
  // Release the lease of this process, or the migration would see the mirror as in use.
  raw.exec('DELETE FROM leases');
  raw.close();
}

const migrate = (to: string, ...flags: readonly string[]) =>
  world.run(['migrate', '--from', 'sqlite:./mirror.db', '--to', to, ...flags]);

const rowsIn = (url: string, table: string) =>
  withClient(url, async (client) =>
    Number((await client.query(`SELECT count(*) FROM ${table}`)).rows[0].count),
  );

describe('rosterd migrate', () => {
  test('migrate copies every table of the mirror or declares why not', () => {
    const raw = new Sqlite(file, { readonly: true });
    const tables = raw
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .pluck()
      .all();
    const empty = migratedTables.filter(
      ({ name }) => raw.prepare(`SELECT count(*) FROM ${name}`).pluck().get() === 0,
    );
    raw.close();
    expect([...migratedTables.map(({ name }) => name), ...Object.keys(leftBehind)].sort()).toEqual(
      tables.sort(),
    );
    expect(empty).toEqual([]);
  });

  test('migrate --dry-run prints what would be copied and creates nothing', async () => {
    const { code, out, err } = await migrate(secretTo(), '--dry-run');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^investment_rows +\d+$/m);
    expect(out).toMatch(/ rows to copy from .*mirror\.db to postgres:\/\/.*; nothing was written\n$/);
    expect(out).not.toContain('canary');
    const [found] = await world.admin("SELECT to_regclass('sources') IS NULL AS nothing");
    expect(found).toEqual({ nothing: true });
  });

  test('a killed migrate leaves the target empty, and no other process writes the file meanwhile', async () => {
    const target = await migratedDatabase();
    onTestFinished(() => target.drop());
    await withClient(target.url, (client) =>
      client.query(`CREATE FUNCTION stand() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_advisory_lock(7); RETURN new; END $$;
        CREATE TRIGGER stand BEFORE INSERT ON forgotten FOR EACH ROW EXECUTE FUNCTION stand();`),
    );
    const holding = new pg.Client(target.url);
    onTestFinished(() => holding.end());
    await holding.connect();
    await holding.query('SELECT pg_advisory_lock(7)');
    const main = join(packageRoot, 'dist', 'cli', 'main.js');
    const words = ['migrate', '--from', file, '--to', target.url];
    const child = spawn(process.execPath, [main, ...words], {
      cwd: packageRoot,
      stdio: 'ignore',
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const standing = async () =>
      (
        await holding.query(
          "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted",
        )
      ).rowCount;
    await expect.poll(standing).toBe(1);
    const writer = openRaw(file, { timeout: 0 });
    expect(() => writer.exec("UPDATE sources SET state = 'empty'")).toThrow('database is locked');
    writer.close();
    child.kill('SIGKILL');
    await once(child, 'exit');
    await holding.query('SELECT pg_advisory_unlock(7)');
    await expect.poll(standing).toBe(0);
    // Wait until the server has finished its rollback.
    await withClient(target.url, (client) => client.query('BEGIN; LOCK TABLE sources; COMMIT'));
    for (const { name } of migratedTables) expect([name, await rowsIn(target.url, name)]).toEqual([name, 0]);
  });

  test('migrate detects rows that differ after copying and keeps nothing', async () => {
    const target = await migratedDatabase();
    onTestFinished(() => target.drop());
    await withClient(target.url, (client) =>
      client.query(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN new.times := new.times + 1; RETURN new; END $$;
        CREATE TRIGGER spoil BEFORE INSERT ON drift_rows FOR EACH ROW EXECUTE FUNCTION spoil();`),
    );
    const { code, out, err } = await migrate(target.url);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /drift_rows differs after the copy: 2 rows in the source, 2 sent, 2 read back, with different content\nTry: Nothing was committed/,
    );
    expect(await rowsIn(target.url, 'sources')).toBe(0);
  });

  test('migrate refuses a mirror that another process follows, even between two ticks', async () => {
    const copy = join(world.folder, 'worked.db');
    copyFileSync(file, copy);
    const soon = new Date(Date.now() + 20_000).toISOString();
    for (const [holder, until] of [
      ['elsewhere:1:2.3:abc', soon],
      [processName(), '2026-01-01T00:00:00.000Z'],
    ]) {
      const raw = new Sqlite(copy);
      raw.prepare('INSERT OR REPLACE INTO leases VALUES (1, ?, 1, ?)').run(holder, until);
      raw.close();
      const { code, out, err } = await world.run(['migrate', '--from', copy, '--to', secretTo()]);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain(`worked.db is in use: ${holder} syncs its source acme\nTry: Stop that rosterd`);
    }
  });

  test('migrate reports what it cannot copy, with a hint', async () => {
    const foreign = await freshDatabase();
    onTestFinished(() => foreign.drop());
    await withClient(foreign.url, (client) => client.query('CREATE TABLE budgets (mine int)'));
    const [text, pipe] = [join(world.folder, 'notes.txt'), join(world.folder, 'stream')];
    writeFileSync(text, 'x'.repeat(100));
    execFileSync('mkfifo', [pipe]);
    const older = join(world.folder, 'an older.db');
    copyFileSync(file, older);
    const raw = new Sqlite(older);
    raw.exec('DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)');
    raw.close();
    for (const [words, code, message] of [
      [['--to', secretTo()], 2, /--from is missing\nTry: rosterd migrate --from sqlite:/],
      [['--from', file], 2, /--to is missing\nTry: /],
      [['--from', secretTo(), '--to', 'sqlite:new.db'], 2, /not from postgres to sqlite\nTry: /],
      [
        ['--from', 'nowhere.db', '--to', secretTo()],
        1,
        /nowhere\.db is not there, or empty\nTry: .*--from sqlite:FILE/,
      ],
      [['--from', text, '--to', secretTo()], 1, /is not a SQLite database\nTry: .*--from sqlite:FILE/],
      [
        ['--from', pipe, '--to', secretTo()],
        2,
        /stream is a pipe, not a database file\nTry: .*--from sqlite:FILE\. Write a stream to one first/,
      ],
      [
        ['--from', older, '--to', secretTo()],
        1,
        /an older\.db has an older schema; migrations to run: 1\nTry: rosterd schema --apply --database ".*\/an older\.db"\n/,
      ],
      [
        ['--from', file, '--to', 'postgres://nowhere'],
        2,
        /--to is not the address of a PostgreSQL database\nTry: /,
      ],
      [
        ['--from', file, '--to', 'postgres://app:100%canary@127.0.0.1/mirror'],
        2,
        /--to is not the address of a PostgreSQL database\nTry: .* with %25 for %/,
      ],
      [['--from', file, '--to', world.url.replace('@', ':canary-wrong@')], 1, /refuses the password/],
      [
        ['--from', file, '--to', foreign.url],
        1,
        /holds public\.budgets, which does not belong to a mirror\nTry: /,
      ],
    ] as const) {
      const answer = await world.run(['migrate', ...words]);
      expect([answer.code, answer.out]).toEqual([code, '']);
      expect(answer.err).toMatch(message);
      expect(answer.err).not.toContain('canary');
    }
  });

  test('migrate copies everything, and the daemon continues from the cursor without listing again', async () => {
    const before = openSqlite(file, { readonly: true });
    const source = await canonicalDump({ kind: 'sqlite', sqlite: before });
    before.close();
    const { code, out, err } = await migrate(secretTo(), '--json');
    expect([code, err]).toEqual([0, '']);
    const told = JSON.parse(out);
    expect(told).toMatchObject({ dry_run: false, database: world.url });
    expect(told.tables.map(({ table }: { table: string }) => table)).toEqual(
      migratedTables.map(({ name }) => name),
    );
    for (const { sha256 } of told.tables) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(out).not.toContain('canary');

    const postgres = await openPostgres(secretTo());
    expect(await canonicalDump({ kind: 'postgres', postgres })).toEqual(source);
    const { rows } = await postgres.pool.query(
      "SELECT (SELECT status FROM staged_rows) AS odd, (SELECT rows::text FROM listings) AS large, (SELECT array_to_string(seen, ',') FROM staged_pages WHERE page = 1) AS seen, (SELECT count(*) FROM leases) AS leases",
    );
    expect(rows).toEqual([{ odd, large: '9007199254740993', seen: '1,2,3', leases: 0 }]);
    // Remove the rows added for the copy, which would change the next sync.
    await postgres.pool.query(
      "DELETE FROM staged_rows; DELETE FROM staged_pages; DELETE FROM quarantine_rows; DELETE FROM awaiting_deletion_rows; UPDATE sources SET awaiting_deletion = 0; DELETE FROM sources WHERE name = 'beta'",
    );
    await postgres.close();

    const again = await migrate(secretTo());
    expect([again.code, again.out]).toEqual([1, '']);
    expect(again.err).toMatch(
      /is not empty, it holds a mirror of acme: sources 1, investment_rows \d+, .*\nTry: /,
    );

    const asked = async () => ((await world.control('GET', '/requests')) as { requests: Asked[] }).requests;
    const earlier = (await asked()).length;
    await world.control('POST', '/churn', { changes: 25 });
    expect(await world.run(['sync'])).toMatchObject({ code: 0 });
    const reads = (await asked())
      .slice(earlier)
      .filter(({ path, query }) => path === '/investments' && query.per_page === '100');
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter(({ query }) => !('updated_since' in query) && !('cursor' in query))).toEqual([]);
    const seqs = await world.admin('SELECT seq::int FROM change_rows ORDER BY seq');
    expect(seqs.map(({ seq }) => seq)).toEqual(seqs.map((_, index) => index + 1));
    const verified = await world.run(['verify', '--full', '--json']);
    expect(JSON.parse(verified.out)).toMatchObject({ equal: true });
    expect(
      await world.admin(
        "SELECT count(*)::int AS indexes FROM pg_indexes WHERE indexname LIKE 'investment_rows_%'",
      ),
    ).toEqual([{ indexes: 10 }]);
  });

  test('migrate copies the webhooks that a killed daemon accepted beside the file', async () => {
    const target = await freshDatabase();
    onTestFinished(() => target.drop());
    const copy = join(world.folder, 'killed.db');
    copyFileSync(file, copy);
    const ended = processName().replace(/^(.+:\d+:)\d+\./, '$11.');
    const journal = new DeliveryJournal(copy, () => {}, ended);
    const event = ['evt_journal', 'i', 'investment.changed', 'acme', null, null, 0];
    journal.append([[...event, '2026-11-24T12:00:00.000Z', 'pending', null, '{}']]);
    // Without a configuration: with one, the copy is opened for the forget ledger before.
    const io = fakeIo({ cwd: tempFolder(), clock: systemClock });
    expect(await rosterd(['migrate', '--from', copy, '--to', target.url], io)).toMatchObject({ code: 0 });
    await withClient(target.url, async (client) => {
      const { rows } = await client.query(
        "SELECT state, source FROM rosterd_identity.webhook_inbox WHERE event_id = 'evt_journal'",
      );
      expect(rows).toEqual([{ state: 'pending', source: 'acme' }]);
    });
  });

  test('migrate applies the forget ledger to an old mirror before copying it', async () => {
    const target = await freshDatabase();
    onTestFinished(() => target.drop());
    const copy = join(world.folder, 'old.db');
    copyFileSync(file, copy);
    const raw = new Sqlite(copy);
    const person = raw
      .prepare<[], { investor: string; row: number; name: string }>(
        'SELECT r.investor_id AS investor, r.row_no AS row, i.name FROM investment_rows r JOIN identity_rows i USING (row_no) WHERE i.name IS NOT NULL AND r.investor_id IS NOT NULL LIMIT 1',
      )
      .get();
    raw.close();
    const ledger = join(world.folder, 'ledger.jsonl');
    writeFileSync(
      ledger,
      `${JSON.stringify({ id: person?.investor, event: 'forgotten', at: '2026-11-01T00:00:00.000Z' })}\n`,
    );
    const words = ['--from', copy, '--to', target.url, '--set', `forget.ledger=${ledger}`];
    const { code, out, err } = await world.run(['migrate', ...words], { tty: true, columns: 100 });
    expect(code).toBe(0);
    expect(err).toMatch(/migrate {2}\[#{20}\] 100 %/);
    expect(err).toContain('Set "database" to "postgres://');
    expect(out).toMatch(/ rows copied from .*old\.db to postgres:.*, read back and found equal\n$/);
    await withClient(target.url, async (client) => {
      const people = await client.query('SELECT 1 FROM identity_rows WHERE row_no = $1', [person?.row]);
      const kept = await client.query('SELECT 1 FROM forgotten WHERE id = $1', [person?.investor]);
      expect([people.rowCount, kept.rowCount]).toEqual([0, 1]);
    });
  });
});

interface Asked {
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
}
