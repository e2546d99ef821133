import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ExportTable, exportTables, tablesOfPeople } from '../../config/export-tables.js';
import { counted } from '../../domain/counted.js';
import { defined } from '../../domain/defined.js';
import { Fault, isFault } from '../../domain/fault.js';
import { parseId } from '../../domain/ids.js';
import type { ExportFormat, PreparedExport, PreparedFile } from '../../reading/export.js';
import { asOf, asOfOption } from '../as-of.js';
import type { Command, CommandContext } from '../command.js';
import { type ChosenMirror, databaseOptions, mirrorOf } from '../database-options.js';
import { type ExitCode, exitCodes } from '../exit-codes.js';
import { writePieces } from '../output/write-pieces.js';
import { endsAsFolder, pathOption } from '../path-argument.js';

export const exportCommand: Command = {
  name: 'export',
  summary: 'Write the investments, or other tables, to files or to stdout',
  examples: [
    ['rosterd export --out investments.csv', 'one row for each investment, no names'],
    [
      'rosterd export --identity --format jsonl | gzip > roster.jsonl.gz',
      'with names, one JSON object per line',
    ],
    ['rosterd export --format founder-csv --identity', 'manage_investments_<slug>.csv, as founders know it'],
    ['rosterd export --as-of 2026-03-31 --out q1.csv', 'the mirror as it was at the end of that day'],
    ['rosterd export --out investments.xlsx', 'a workbook for Excel: money, dates, frozen header'],
    [
      'rosterd export --out q1.csv --manifest',
      'with q1.csv.manifest.json: checksum, rows, columns, how complete',
    ],
    ['rosterd export --check q1.csv', 'compares the file with its manifest'],
    ['rosterd export --out investments.parquet', 'with types, for DuckDB, pandas and R'],
    [
      'rosterd export --table companies --table rounds --format xlsx --out .',
      'companies.xlsx and rounds.xlsx, both as of one moment',
    ],
  ],
  options: [
    ...databaseOptions,
    {
      flags: '--table <name>',
      summary:
        'a table or view to write whole, instead of the investments; several go to the folder of --out',
      choices: exportTables,
      repeats: true,
    },
    {
      flags: '--format <format>',
      summary:
        'csv, jsonl (one JSON object per line), xlsx, parquet or founder-csv (default: as --out ends, else csv)',
      choices: ['csv', 'jsonl', 'xlsx', 'parquet', 'founder-csv'],
    },
    {
      flags: '--out <file>',
      summary:
        'output file, mode 0600, created only when complete; - is stdout (default, except for founder-csv and parquet)',
    },
    { flags: '--force', summary: 'replace an existing file without asking' },
    {
      flags: '--manifest',
      summary: 'also write FILE.manifest.json: size, checksum, rows, columns, how complete',
    },
    {
      flags: '--check <file>',
      summary:
        'write nothing: compare an export (a file, or the folder of a scheduled one) with its manifest; exit code 1 if it differs',
    },
    { flags: '--source <name>', summary: 'only this source', once: true },
    { flags: '--company <id>', summary: 'only this company', once: true },
    asOfOption,
    { flags: '--identity', summary: 'with names, emails, addresses and messages' },
    { flags: '--no-identity', summary: 'without identity; this is the default' },
    {
      flags: '--slug <word>',
      summary: 'slug in the file name of a founder-csv (default: the name of the source)',
    },
    { flags: '--raw', summary: 'do not escape text that a spreadsheet would run as a formula' },
  ],
  async run(context) {
    const { options, io, out, signal } = context;
    const check = pathOption(context, 'check', '--check');
    if (check !== undefined) return await checked(check, context);
    pathOption(context, 'out', '--out');
    const mirror = await mirrorOf(context);
    const format = formatOf(context);
    const identity = options.flag('identity');
    const source = options.text('source');
    const company = companyOf(context);
    const tables = tablesOf(context, format);
    const daemon = await import('../../reading/export.js');
    const progress = out.progress('export', io.clock);
    let rows = 0;
    let rowsTotal: number | undefined;
    let showsProgress = true;
    const ask = {
      format,
      tables,
      identity,
      raw: options.flag('raw'),
      ...asOf(options, io.clock.now()),
      ...defined({ source, company }),
      onRow: () => {
        rows += 1;
        if (showsProgress && rows % 1_000 === 0) progress.update({ pages: 0, rows, rowsTotal });
      },
    };
    if (!identity && format === 'founder-csv')
      out.note('names, emails and addresses are left empty; --identity fills them in');
    const write = async ({ files, ...about }: PreparedExport) => {
      rowsTotal = about.rowsTotal ?? undefined;
      for (const gap of gapsOf(about, identity)) out.warn(gap);
      if (tables.length > 0) {
        const folder = folderOf(context);
        if (folder !== null) return await saveIn(folder, files, format, mirror, context);
        if (files.length > 1) throw hiddenFolder(context) ?? noFolder();
      }
      const [file] = files;
      const target = targetOf(context, about.sources, format, daemon.founderCsvName);
      if (target !== null) return await saveAs([{ file, target }], mirror, context);
      const pieces = streamOf(file, format, context);
      // The rows themselves show on the terminal how far the export is.
      showsProgress = io.stdout.isTTY !== true;
      await writePieces(io.stdout, daemon.gathered(pieces), signal);
    };
    await daemon.exportMirror(mirror.location, ask, write);
    if (showsProgress && io.stderr.isTTY === true && rows >= 1_000)
      progress.finish({ pages: 0, rows, rowsTotal });
    return exitCodes.done;
  },
};

/** Returns what is missing from an export, as sentences. */
function gapsOf(
  { sources, unreadable, younger, nameless, completingNames }: Omit<PreparedExport, 'files'>,
  identity: boolean,
): readonly string[] {
  const gaps = [
    ...unreadable.map((name) => `${name}: its first listing is not complete, so it has no rows yet`),
    ...younger.map(
      ({ source, from }) => `${source}: its history begins at ${from}, after the requested time`,
    ),
  ];
  if (sources.length === 0) gaps.unshift('the mirror has no source yet, so it has no rows');
  if (!identity) return gaps;
  return [
    ...gaps,
    ...nameless.map((name) => `${name}: the mirror stores no names for this source`),
    ...completingNames.map(
      (name) =>
        `${name}: names are incomplete, until the re-listing that \`rosterd status\` reports has ended`,
    ),
  ];
}

interface Saved {
  readonly file: PreparedFile;
  readonly target: string;
}

/** Writes each file as `TABLE.FORMAT` into a folder. */
function saveIn(
  folder: string,
  files: readonly PreparedFile[],
  format: ExportFormat,
  mirror: ChosenMirror,
  context: CommandContext,
): Promise<void> {
  return saveAs(
    files.map((file) => ({ file, target: join(folder, `${file.table}.${format}`) })),
    mirror,
    context,
  );
}

/** Writes files one after the other. Asks about existing ones before it writes the first. */
async function saveAs(
  all: readonly Saved[],
  { config }: ChosenMirror,
  context: CommandContext,
): Promise<void> {
  const { io, out, options, signal } = context;
  const { refuseOwnOutput } = await import('../own-output.js');
  for (const { file, target } of all) {
    for (const path of file.mayReplace(target)) await refuseOwnOutput(path, config, context);
    await mayReplace(target, context);
  }
  const { systemRandom } = await import('../../runtime/random.js');
  for (const { file, target } of all) {
    const bytes = await file.save(target, systemRandom, signal).catch((error: unknown) => {
      throw target === all[0]?.target ? error : leftOut(target, error);
    });
    out.note(`${counted(file.rows(), 'row')}, ${counted(bytes, 'byte')}: ${target}`);
    if (options.flag('manifest')) out.note(`manifest: ${await file.describe(target, io.clock)}`);
  }
}

/** Returns the fault of one of several files: those before it are written. */
function leftOut(target: string, error: unknown): unknown {
  if (!isFault(error)) return error;
  const message = error.message.replace('no file was written', `${target} was not written`);
  return new Fault(error.code, message, { ...error.about, cause: error });
}

/** Returns the tables asked for, once each; none for the investments. Throws `usage` for what cannot be combined. */
function tablesOf({ options }: CommandContext, format: ExportFormat): readonly ExportTable[] {
  const asked = new Set(options.list('table'));
  const tables = exportTables.filter((table) => asked.has(table));
  if (tables.length === 0) return [];
  const people = options.flag('identity') ? undefined : tables.find((table) => tablesOfPeople.has(table));
  if (people !== undefined)
    throw new Fault('usage', `--table ${people} names people`, {
      hint: 'add --identity, or use investments',
    });
  if (format === 'founder-csv')
    throw new Fault('usage', '--table cannot be written as a founder-csv, which has its own columns', {
      hint: '--format csv, jsonl, xlsx or parquet',
    });
  const limit = ['company', 'asOf'].find((name) => options.text(name) !== undefined);
  if (limit !== undefined)
    throw new Fault(
      'usage',
      `--table writes a table whole, without --${limit === 'asOf' ? 'as-of' : limit}`,
      {
        hint: 'rosterd query reads a part of a table, also --as-of a time, and writes it as --csv',
      },
    );
  return tables;
}

/** Returns the folder that `--out` names; null when it is not a folder. */
function folderOf({ options, io }: CommandContext): string | null {
  const path = resolve(io.cwd, options.text('out') ?? '-');
  return isFolder(path) ? path : null;
}

/** What this user may not look at is none here: writing to it fails, and says why. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the error for an `--out` that this user may not look at, where only a folder will do; null for any other. */
function hiddenFolder({ options, io }: CommandContext): Fault | null {
  const path = resolve(io.cwd, options.text('out') ?? '-');
  try {
    statSync(path);
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return null;
    const hint = 'run it as the user who owns that path, or name another folder';
    return new Fault('usage', `${path} cannot be read (EACCES)`, { hint, cause: error });
  }
}

function noFolder(): Fault {
  return new Fault('usage', 'several tables need a folder, and --out does not name one', {
    hint: '--out FOLDER, such as --out . for this folder',
  });
}

/** Compares an export with its manifest. */
async function checked(file: string, { out }: CommandContext): Promise<ExitCode> {
  const { checkExport } = await import('../../reading/export.js');
  const { manifest, made_at, files, rows, problems } = await checkExport(file);
  for (const { file: name, problem } of problems) out.line(`${name}: ${problem}`);
  if (problems.length > 0) return exitCodes.failed;
  out.line(`${manifest}: ${counted(files, 'file')} of ${made_at}, ${counted(rows, 'row')}, all well`);
  return exitCodes.done;
}

function noManifest(): Fault {
  return new Fault('usage', '--manifest needs a file to describe', { hint: '--out FILE' });
}

/** Asks at a terminal before an existing file is replaced. Throws `usage` for no, and without a terminal. */
async function mayReplace(target: string, { options, io, signal }: CommandContext): Promise<void> {
  if (options.flag('force') || !existsSync(target)) return;
  const { askLine } = await import('../ask.js');
  const answer =
    io.stdin.isTTY === true
      ? await askLine(io, `${target} exists. Replace it? [y/N] `, signal).catch(noWithoutAnswer)
      : 'n';
  if (/^y(?:es)?$/i.test(answer.trim())) return;
  throw new Fault('usage', `${target} exists`, { hint: 'name another file, or add --force to replace it' });
}

/** The end of stdin, Ctrl-D at a terminal, is no answer. */
function noWithoutAnswer(error: unknown): string {
  if (isFault(error, 'reauthorize')) return 'n';
  throw error;
}

function companyOf({ options }: CommandContext): string | undefined {
  const text = options.text('company');
  if (text === undefined || parseId('company', text) !== undefined) return text;
  throw new Fault('usage', `--company is ${JSON.stringify(text)}`, {
    hint: 'the id of a company, which begins with co_',
  });
}

/** Returns the format asked for; without one, that of the ending of `--out`. */
function formatOf({ options }: CommandContext): ExportFormat {
  const asked = options.text('format');
  if (asked !== undefined) return asked as ExportFormat;
  const [, end = ''] = /\.(xlsx|parquet|jsonl)$/i.exec(options.text('out') ?? '') ?? [];
  return end === '' ? 'csv' : (end.toLowerCase() as ExportFormat);
}

/** Returns the pieces of a file to write to stdout. Throws `usage` for what only a file can have. */
function streamOf({ pieces }: PreparedFile, format: ExportFormat, { options, io }: CommandContext) {
  if (options.flag('manifest')) throw noManifest();
  if (pieces === null) throw noStream();
  if (format === 'xlsx' && io.stdout.isTTY === true) throw noTerminal();
  return pieces;
}

function noTerminal(): Fault {
  return new Fault('usage', 'a workbook is not text for a terminal', {
    hint: '--out FILE, such as --out investments.xlsx',
  });
}

/** A Parquet file ends with its index, so its writer and its readers need a seekable file. */
function noStream(): Fault {
  return new Fault('usage', 'a Parquet file cannot be written to stdout', {
    hint: '--out FILE, such as --out investments.parquet',
  });
}

/** Returns the output file, or null for stdout. In a folder, a founder-csv gets the file name the platform gives it. */
function targetOf(
  context: CommandContext,
  sources: readonly string[],
  format: ExportFormat,
  founderCsvName: (slug: string) => string,
): string | null {
  const { options, io } = context;
  const asked = options.text('out');
  if (asked === '-' || (asked === undefined && format !== 'founder-csv')) return null;
  const path = resolve(io.cwd, asked ?? '.');
  if (!isFolder(path)) {
    if (asked === undefined || !endsAsFolder(asked)) return path;
    const hidden = hiddenFolder(context);
    if (hidden !== null) throw hidden;
    const mayBeFolder = format === 'founder-csv' || options.list('table').length > 0;
    throw new Fault('usage', `--out ${asked} is no folder`, {
      hint: mayBeFolder
        ? 'create it first, or name a file'
        : `name a file, such as --out investments.${format}`,
    });
  }
  if (format !== 'founder-csv')
    throw new Fault('usage', `--out ${asked} is a folder`, { hint: 'Name a file in it.' });
  const [only, ...others] = sources;
  const slug = options.text('slug') ?? (others.length === 0 ? only : undefined);
  if (slug !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(slug))
    return join(path, founderCsvName(slug));
  throw new Fault('usage', 'cannot choose a file name: no single source and no valid --slug', {
    hint: '--source NAME, or --slug WORD of letters, digits, . _ and -, or --out FILE',
  });
}
