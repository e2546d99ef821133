import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { exportTables } from '../../../src/config/export-tables.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { askDuckDb } from '../../exports/ask-duckdb.js';
import { parquetFooter } from '../../exports/parquet-footer.js';
import { sheetsOf } from '../../exports/workbook.js';
import { rosterd } from '../fake-io.js';
import { changedMirror, formula, jsonOf, rowsIn } from './changed-mirror.js';

const { world, target, held, before, mirror, leftovers, withLateSource } = await changedMirror();

describe('export', () => {
  test('export writes every investment as CSV to stdout, without names by default', async () => {
    const { code, out, err } = await world.run(['export']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.split('\r\n');
    expect(lines[0]).toMatch(/^source,id,company_id,.*,valid_from,change_seq,company_name,round_name$/);
    expect(lines).toHaveLength(held + 2);
    expect(out).not.toContain('HYPERLINK');
    for (const { email } of mirror<{ email: string | null }>('SELECT email FROM identities'))
      if (email !== null) expect(out).not.toContain(email);
    expect((await world.run(['export', '--no-identity'])).out).toBe(out);
  });

  test('export --identity escapes text that looks like a formula, and --raw does not', async () => {
    const safe = await world.run(['export', '--identity']);
    expect(safe.out).toContain(`"'=HYPERLINK(""http://evil"",""x"")"`);
    const raw = await world.run(['export', '--identity', '--raw']);
    expect(raw.out).toContain(`,"=HYPERLINK(""http://evil"",""x"")"`);
  });

  test('export as JSON Lines writes whole objects with JSON columns as JSON', async () => {
    const { out } = await world.run(['export', '--format', 'jsonl', '--identity']);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(held);
    expect(rows.find(({ id }) => id === target)).toMatchObject({
      committed_cents: 777_700,
      name: formula,
      source: 'acme',
      blockers: expect.any(Array),
    });
  });

  test('export as Parquet has the rows and sums of the mirror, also with --identity and --as-of', async () => {
    const { code, out, err } = await world.run(['export', '--format', 'parquet', '--out', 'a.parquet']);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(new RegExp(`^${held} rows, [\\d,]+ bytes: .*a\\.parquet\n$`));
    const columns = (name: string) => parquetFooter(join(world.folder, name)).columns;
    const [least] = mirror<{ min: number; max: number; nulls: number }>(
      'SELECT min(committed_cents) AS min, max(committed_cents) AS max, sum(committed_cents IS NULL) AS nulls FROM investments',
    );
    expect(columns('a.parquet').find(({ name }) => name === 'committed_cents')).toEqual({
      name: 'committed_cents',
      type: 'INT64 INTEGER(64)',
      min: BigInt(least?.min ?? 0),
      max: BigInt(least?.max ?? 0),
      nulls: BigInt(least?.nulls ?? 0),
    });
    expect(columns('a.parquet').map(({ name }) => name)).not.toContain('email');
    const sums = 'count(*), sum(committed_cents), sum(raised_cents), sum(change_seq)';
    const [inMirror] = mirror<Record<string, number>>(`SELECT ${sums} FROM investments`);
    expect(askDuckDb(join(world.folder, 'a.parquet'), `SELECT ${sums} FROM read_parquet(FILE)`)).toEqual([
      Object.values(inMirror ?? {}).map(String),
    ]);
    await world.run(['export', '--format', 'parquet', '--identity', '--out', 'b.parquet', '--as-of', before]);
    expect(columns('b.parquet').map(({ name }) => name)).toContain('email');
    expect(columns('b.parquet').find(({ name }) => name === 'committed_cents')?.max).not.toBe(777_700n);
    expect(leftovers()).toEqual([]);
  });

  test('export to a file that ends in .xlsx is a workbook with the rows and sums of the mirror', async () => {
    const { code, out, err } = await world.run(['export', '--out', 'a.xlsx']);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(new RegExp(`^${held} rows, [\\d,]+ bytes: .*a\\.xlsx\n$`));
    const [sheet] = sheetsOf(readFileSync(join(world.folder, 'a.xlsx')));
    const cells = sheet?.cells ?? {};
    const letter = Object.entries(cells)
      .find(([, value]) => value === 'committed')?.[0]
      .replace('1', '');
    const amounts = Array.from({ length: held }, (_, at) => Number(cells[`${letter}${at + 2}`] ?? 0));
    const [total] = mirror<{ cents: number }>('SELECT sum(committed_cents) AS cents FROM investments');
    expect(Math.round(amounts.reduce((sum, amount) => sum + amount * 100, 0))).toBe(total?.cents);
    expect(Object.values(cells)).not.toContain(formula);
    const stdout = await world.run(['export', '--format', 'xlsx', '--identity', '--out', 'b.xlsx']);
    expect(stdout.code).toBe(0);
    const named = sheetsOf(readFileSync(join(world.folder, 'b.xlsx')))[0];
    expect(Object.values(named?.cells ?? {})).toContain(formula);
    expect(named?.xml).not.toContain('<f>');
    const terminal = await world.run(['export', '--format', 'xlsx'], { tty: true });
    expect([terminal.code, terminal.err]).toEqual([2, expect.stringContaining('--out investments.xlsx')]);
  });

  test('export --manifest describes the file without naming a person, and --check compares the two', async () => {
    const { code, err } = await world.run([
      'export',
      '--out',
      'm.csv',
      '--manifest',
      '--source',
      'acme',
      '--identity',
    ]);
    expect(code).toBe(0);
    expect(err).toContain('m.csv.manifest.json');
    const file = join(world.folder, 'm.csv');
    const text = readFileSync(`${file}.manifest.json`, 'utf8');
    const [status] = mirror<Record<string, unknown>>(
      'SELECT complete_up_to, cursor_saved_at FROM sync_status',
    );
    const [newest] = mirror<{ seq: number }>('SELECT max(seq) AS seq FROM changes');
    expect(JSON.parse(text)).toEqual({
      format: 'rosterd-export',
      version: 1,
      made_at: expect.stringMatching(/^20\d\d-/),
      rosterd: expect.any(String),
      identity: true,
      as_of: null,
      source: 'acme',
      company: null,
      change_seq: newest?.seq,
      sources: [{ source: 'acme', ...status, names_incomplete: false }],
      files: [
        {
          name: 'm.csv',
          table: 'roster',
          format: 'csv',
          rows: held,
          bytes: statSync(file).size,
          sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
          columns: expect.arrayContaining([{ name: 'committed_cents', type: 'number' }]),
        },
      ],
    });
    for (const { email } of mirror<{ email: string | null }>('SELECT email FROM identities'))
      if (email !== null) expect(text).not.toContain(email);
    expect(statSync(`${file}.manifest.json`).mode & 0o777).toBe(0o600);
    expect((await world.run(['export', '--check', 'none.csv'])).err).toContain(
      'none.csv cannot be read (ENOENT)',
    );
    const well = await world.run(['export', '--check', 'm.csv']);
    expect([well.code, well.out]).toEqual([0, expect.stringMatching(/1 file of .*all well\n$/)]);
    writeFileSync(file, readFileSync(file, 'utf8').replace('active', 'aktive'));
    const changed = await world.run(['export', '--check', 'm.csv.manifest.json']);
    expect([changed.code, changed.out]).toEqual([1, 'm.csv: wrong checksum\n']);
    rmSync(file);
    expect((await world.run(['export', '--check', 'm.csv'])).out).toBe('m.csv: missing\n');
    const stdout = await world.run(['export', '--manifest']);
    expect([stdout.code, stdout.err]).toEqual([2, expect.stringContaining('--out FILE')]);
    const other = await world.run(['export', '--check', 'config.json']);
    expect([other.code, other.err]).toEqual([2, expect.stringContaining('not the manifest of an export')]);
  });

  test('export --out --force creates a complete file of mode 0600 and replaces an existing one', async () => {
    const file = join(world.folder, 'out.csv');
    writeFileSync(file, 'old');
    const { code, out, err } = await world.run(['export', '--force', '--out', 'out.csv']);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(new RegExp(`^${held} rows, [\\d,]+ bytes: .*out\\.csv\n$`));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe((await world.run(['export'])).out);
    expect(leftovers()).toEqual([]);
  });

  test('export --force replaces neither a file of the mirror nor a pipe', async () => {
    const before = mirror('SELECT * FROM investments');
    for (const file of ['mirror.db', 'mirror.db-wal']) {
      const own = await world.run(['export', '--force', '--out', file]);
      expect([file, own.code, own.err]).toEqual([file, 2, expect.stringContaining('is the mirror itself')]);
    }
    expect(mirror('SELECT * FROM investments')).toEqual(before);
    for (const [file, is] of [
      ['mirror.db-journal', 'the mirror itself'],
      ['mirror.db-deliveries-1', 'the mirror itself'],
      ['config.json', 'the configuration'],
      ['credentials/forgotten.jsonl', 'the ledger of forgotten people'],
    ] as const) {
      const own = await world.run(['export', '--force', '--out', file]);
      expect([file, own.code, own.err]).toEqual([
        file,
        2,
        `error: ${join(world.folder, file)} is ${is}\nTry: Name another file.\n`,
      ]);
    }
    const pipe = join(world.folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const format of ['csv', 'parquet']) {
      const refused = await world.run(['export', '--force', '--format', format, '--out', 'pipe']);
      expect([refused.code, refused.err]).toEqual([
        2,
        expect.stringMatching(/pipe is not an ordinary file, .*\nTry: Name a file/),
      ]);
    }
    expect(statSync(pipe).isFIFO()).toBe(true);
    rmSync(pipe);
    expect(leftovers()).toEqual([]);
  });

  test('export asks at a terminal before it replaces a file, and refuses without one', async () => {
    const file = join(world.folder, 'asked.csv');
    writeFileSync(file, 'mine');
    const words = ['export', '--out', 'asked.csv'];
    const refused = await world.run(words);
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringMatching(/asked\.csv exists\nTry: .*--force/),
    ]);
    const typed = (answer: string) => Object.assign(Readable.from([`${answer}\n`]), { isTTY: true });
    const no = await world.run(words, { stdin: typed('') });
    expect([no.code, no.err]).toEqual([2, expect.stringContaining('Replace it? [y/N]')]);
    const none = await world.run(words, { stdin: Object.assign(Readable.from([]), { isTTY: true }) });
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('add --force to replace it')]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const yes = await world.run(words, { stdin: typed('y') });
    expect(yes.code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('committed_cents');
    rmSync(file);
  });

  test('a stopped export keeps the existing file and leaves no other', async () => {
    const file = join(world.folder, 'kept.csv');
    writeFileSync(file, 'kept');
    const io = world.io();
    const running = rosterd(['export', '--force', '--out', 'kept.csv'], io);
    io.signals.emit('SIGTERM');
    expect((await running).code).toBe(5);
    expect(readFileSync(file, 'utf8')).toBe('kept');
    expect(leftovers()).toEqual([]);
  });

  test('an export of several tables that stops after the first names the one that it did not write', async () => {
    const io = world.io();
    const stderr = Object.assign(
      new Writable({
        write(chunk, _, done) {
          if (String(chunk).includes('companies.csv')) io.signals.emit('SIGTERM');
          io.stderr.write(chunk, done);
        },
      }),
      { isTTY: false },
    );
    const { code, err } = await rosterd(
      ['export', '--table', 'companies', '--table', 'rounds', '--out', '.'],
      { ...io, stderr },
    );
    expect(code).toBe(5);
    expect(err).toContain(
      `the export was stopped before its end; ${join(world.folder, 'rounds.csv')} was not written`,
    );
    expect(existsSync(join(world.folder, 'companies.csv'))).toBe(true);
    rmSync(join(world.folder, 'companies.csv'));
  });

  test('a founder file is named after the company and equals the output on stdout', async () => {
    const { code, err } = await world.run(['export', '--format', 'founder-csv', '--identity']);
    expect(code).toBe(0);
    expect(err).toContain('manage_investments_acme.csv');
    const file = readFileSync(join(world.folder, 'manage_investments_acme.csv'), 'utf8');
    const args = ['export', '--format', 'founder-csv', '--identity', '--out', '-'];
    expect((await world.run(args)).out).toBe(file);
    expect(
      file.startsWith('\uFEFF"Campaign Scope: All Campaigns"') || file.startsWith('\uFEFFCampaign'),
    ).toBe(true);
    expect(file).toContain('"Ada, ""the"" first"');
    const named = await world.run(['export', '--format', 'founder-csv', '--out', '.', '--slug', 'acme-inc']);
    expect(named.err).toContain('--identity fills them in');
    expect(readFileSync(join(world.folder, 'manage_investments_acme-inc.csv'), 'utf8')).not.toContain('Ada');
  });

  test('export --as-of shows the mirror as it was at that time', async () => {
    const { out } = await world.run(['export', '--as-of', before, '--format', 'jsonl']);
    const then = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; committed_cents: number });
    expect(then).toHaveLength(held);
    expect(then.find(({ id }) => id === target)?.committed_cents).not.toBe(777_700);
  });

  test('export --as-of writes the names that companies had then, in every format, as query --as-of does', async () => {
    const columns = mirror<{ name: string }>("SELECT name FROM pragma_table_info('company_rows')")
      .map(({ name }) => name)
      .join(', ');
    const now = instantFromMillis(Date.now());
    world.inFile((raw) =>
      raw.exec(
        `INSERT INTO company_history_rows (${columns}, valid_to, ended_by)
           SELECT ${columns}, '${now}', 'update' FROM company_rows;
         UPDATE company_rows SET name = 'Renamed Ltd', valid_from = '${now}'`,
      ),
    );
    const sql = 'SELECT DISTINCT company_name AS name FROM investments';
    const [{ name }] = jsonOf((await world.run(['query', '--as-of', before, '--json', sql])).out) as [
      { name: string },
    ];
    expect([name, jsonOf((await world.run(['query', '--json', sql])).out)]).toEqual([
      expect.stringMatching(/^(?!Renamed Ltd).+/),
      [{ name: 'Renamed Ltd' }],
    ]);
    for (const format of ['csv', 'jsonl', 'xlsx', 'parquet']) {
      const file = join(world.folder, `named.${format}`);
      await world.run(['export', '--as-of', before, '--format', format, '--out', file]);
      const text =
        format === 'parquet'
          ? JSON.stringify(askDuckDb('', `SELECT DISTINCT company_name FROM '${file}'`))
          : format === 'xlsx'
            ? (sheetsOf(readFileSync(file))[0]?.xml ?? '')
            : readFileSync(file, 'utf8');
      expect([format, text.includes(name), text.includes('Renamed Ltd')]).toEqual([format, true, false]);
    }
    world.inFile((raw) =>
      raw.exec(
        `UPDATE company_rows SET (name, valid_from) = (SELECT name, valid_from FROM company_history_rows);
         DELETE FROM company_history_rows`,
      ),
    );
  });

  test('export --as-of a time before the history writes no file', async () => {
    const file = join(world.folder, 'early.csv');
    for (const only of [[], ['--source', 'acme']]) {
      const early = ['export', '--as-of', '2001-01-01', '--out', file, ...only];
      const { code, out, err } = await world.run(early);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      const whose = only.length === 0 ? 'this mirror' : 'acme';
      expect(err).toMatch(`error: the history of ${whose} begins at `);
    }
    expect(existsSync(file)).toBe(false);
  });

  test('export --as-of warns about a source that the mirror did not have yet, and refuses it alone', async () => {
    await withLateSource(async (late) => {
      const { code, out, err } = await world.run(['export', '--as-of', before]);
      expect({ code, rows: out.trim().split('\r\n').length }).toEqual({ code: 0, rows: 1 + held });
      expect(err).toBe(`warning: late: its history begins at ${late}, after the requested time\n`);
      const alone = await world.run(['export', '--as-of', before, '--source', 'late']);
      expect({ code: alone.code, out: alone.out }).toEqual({ code: 2, out: '' });
      expect(alone.err).toContain(`the history of late begins at ${late}, after ${before}`);
    });
  });

  test.each([
    [['--source', 'nobody'], 'one of: acme'],
    [['--company', 'acme'], 'begins with co_'],
    [['--as-of', 'yesterday'], 'such as 2026-03-31'],
    [['--as-of', '2026-02-30'], 'such as 2026-03-31'],
    [['--out', '.'], 'Name a file in it'],
    [['--out', 'no/such/folder.csv'], 'an existing folder'],
    [['--out', 'missing/'], 'Try: name a file, such as --out investments.csv'],
    [['--format', 'founder-csv', '--out', 'missing/'], 'create it first, or name a file'],
    [['--table', 'rounds', '--out', 'missing/'], 'create it first, or name a file'],
    [['--format', 'founder-csv', '--slug', '../x'], '--slug WORD'],
    [['--format', 'xml'], 'Allowed choices'],
    [['--format', 'parquet'], '--out investments.parquet'],
    [['--format', 'parquet', '--out', '-'], '--out investments.parquet'],
    [['--table', 'roundz'], 'round_totals, daily_raised, investor_totals, companies, rounds'],
    [['--table', 'rounds', '--table', 'identity_rows'], 'Allowed choices are investments'],
    [['--table', 'roster'], 'add --identity'],
    [['--table', 'rounds', '--format', 'founder-csv'], '--format csv, jsonl, xlsx or parquet'],
    [['--table', 'rounds', '--as-of', '2026-03-31'], 'rosterd query'],
    [['--table', 'rounds', '--company', 'co_1'], 'rosterd query'],
    [['--table', 'rounds', '--table', 'companies'], '--out FOLDER'],
    [['--table', 'rounds', '--source', 'nobody'], 'one of: acme'],
  ])('export %j is a usage error and writes nothing', async (args, hint) => {
    const { code, out, err } = await world.run(['export', ...args]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(hint);
    expect(leftovers()).toEqual([]);
  });

  const tablesIn = async (format: string, tables: readonly string[], ...more: readonly string[]) => {
    const folder = join(world.folder, `tables-${format}`);
    mkdirSync(folder, { recursive: true });
    const flags = tables.flatMap((table) => ['--table', table]);
    const done = await world.run([
      'export',
      ...flags,
      '--format',
      format,
      '--force',
      '--out',
      folder,
      ...more,
    ]);
    expect([done.code, done.out]).toEqual([0, '']);
    return folder;
  };

  test.each(['csv', 'jsonl', 'xlsx', 'parquet'])(
    'export --table writes each public table as %s with its rows and columns',
    async (format) => {
      const folder = await tablesIn(format, exportTables, '--identity');
      const counts = exportTables.map((table) => [table, mirror(`SELECT * FROM ${table}`).length]);
      expect(rowsIn(folder, format)).toEqual(Object.fromEntries(counts));
    },
  );

  test('export --table names people only with --identity', async () => {
    const named = exportTables.filter((table) => table !== 'roster' && table !== 'identities');
    const people = mirror<{ name: string }>('SELECT name FROM identities WHERE name IS NOT NULL').map(
      ({ name }) => name,
    );
    expect(people.length).toBeGreaterThan(0);
    const folder = await tablesIn('jsonl', named);
    for (const table of named) {
      const text = readFileSync(join(folder, `${table}.jsonl`), 'utf8');
      expect(people.filter((person) => text.includes(person))).toEqual([]);
    }
  });

  test('export --table writes one table to stdout, to a file, or with --source, each with a manifest that names it', async () => {
    const stdout = await world.run(['export', '--table', 'companies', '--format', 'jsonl']);
    expect(stdout.out.trim().split('\n').map(jsonOf)).toHaveLength(mirror('SELECT * FROM companies').length);
    const source = ['--source', 'acme', '--manifest'];
    const file = await world.run(['export', '--table', 'rounds', ...source, '--out', 'rounds.xlsx']);
    expect([file.code, file.err]).toEqual([0, expect.stringContaining('rounds.xlsx.manifest.json')]);
    const [sheet] = sheetsOf(readFileSync(join(world.folder, 'rounds.xlsx')));
    expect(sheet?.name).toBe('rounds');
    const manifest = jsonOf(readFileSync(join(world.folder, 'rounds.xlsx.manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ source: 'acme', files: [{ table: 'rounds', format: 'xlsx' }] });
    expect((await world.run(['export', '--check', 'rounds.xlsx'])).code).toBe(0);
    const again = await world.run(['export', '--table', 'rounds', '--format', 'csv', '--out', '.']);
    expect([again.code, again.err]).toEqual([0, expect.stringContaining('rounds.csv')]);
    const refused = await world.run([
      'export',
      ...['rounds', 'companies'].flatMap((one) => ['--table', one]),
      '--out',
      '.',
    ]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('rounds.csv exists')]);
    for (const name of ['rounds.xlsx', 'rounds.xlsx.manifest.json', 'rounds.csv'])
      rmSync(join(world.folder, name));
  });

  test('export --company writes only the rows of that company', async () => {
    const none = await world.run(['export', '--company', 'co_other', '--format', 'jsonl']);
    expect(none).toMatchObject({ code: 0, out: '' });
    const all = await world.run(['export', '--company', world.company.id, '--format', 'jsonl']);
    expect(all.out.trimEnd().split('\n')).toHaveLength(held);
  });
});
