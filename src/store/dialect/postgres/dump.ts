import { Fault } from '../../../domain/fault.js';
import { type ArchivedTable, LineReader } from './archive.js';
import { startTool } from './pg-tools.js';

/**
 * Reads the data of a file in pg_dump's custom format, as pg_restore prints it, and passes each table to `take`. With
 * `only`, reads the data of that table alone. Throws `database_unusable` for a damaged file.
 */
export async function readDump(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
  take: (table: ArchivedTable) => Promise<void>,
  only?: string,
): Promise<void> {
  const args = ['--data-only', '--no-owner', '--file=-', ...(only === undefined ? [] : [`--table=${only}`])];
  const { output, ended } = startTool('pg_restore', [...args, file], env, signal);
  const text = new LineReader(output);
  try {
    for (let line = await text.line(); line !== null; line = await text.line()) {
      const [, name = '', list = ''] = /^COPY (\S.*?) \((.*)\) FROM stdin;$/.exec(line) ?? [];
      if (name === '') continue;
      const columns = identifiers(list);
      await take({ table: identifiers(name).at(-1) ?? '', columns, lines: text.untilTableEnd() });
    }
    await ended;
  } catch (error) {
    text.close();
    // pg_restore ended in the middle of a table: its exit code says why.
    if (error instanceof Fault) throw error;
    await ended;
    throw error;
  }
}

/** Returns the identifiers of a list or of a qualified name, without their quotes. */
function identifiers(text: string): readonly string[] {
  return [...text.matchAll(/"((?:[^"]|"")*)"|([^\s,."]+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
  );
}
