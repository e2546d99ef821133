import { defined } from '../../domain/defined.js';
import { type Fault, isFault } from '../../domain/fault.js';
import type { Json } from '../../domain/json.js';
import { printable } from '../../domain/printable.js';
import type { Change, ChangedColumns } from '../../reading/changes.js';
import type { Command } from '../command.js';
import { databaseOptions, locationOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { writePieces } from '../output/write-pieces.js';

export const changes: Command = {
  name: 'changes',
  summary: 'List the changes of the mirror in commit order',
  examples: [
    [
      'rosterd changes --since 1200',
      'everything after change 1200, with values such as status active → canceled',
    ],
    [
      'rosterd changes --follow --json | while read -r line; do …; done',
      'new changes as they happen, one JSON object per line',
    ],
  ],
  options: [
    ...databaseOptions,
    { flags: '--since <seq>', summary: 'only changes with a greater number (default: 0, all changes)' },
    { flags: '--source <name>', summary: 'only this source', once: true },
    { flags: '--follow', summary: 'keep printing new changes until Ctrl-C or SIGTERM, then exit 0' },
    { flags: '--json', summary: 'one JSON array; with --follow, one JSON object per line' },
  ],
  async run(context) {
    const { options, io, signal } = context;
    const after = options.whole('since', { min: 0, max: 999_999_999_999_999 }) ?? 0;
    const source = options.text('source');
    const location = await locationOf(context);
    const { readChanges } = await import('../../reading/changes.js');
    const follow = options.flag('follow');
    const ask = {
      after,
      follow,
      ...defined({ source }),
      onWait: ({ message }: Fault) =>
        void io.stderr.write(`rosterd: ${printable(message)}; retrying until it is reachable\n`),
    };
    const form = !options.flag('json') ? lines : follow ? jsonLines : jsonArray;
    try {
      await readChanges(location, ask, io.clock, signal, (found) =>
        writePieces(io.stdout, form(found), signal),
      );
    } catch (error) {
      // A stopped --follow has printed every change so far. A stopped list is incomplete.
      if (!(follow && isFault(error, 'stopped'))) throw error;
    }
    return exitCodes.done;
  },
};

/** Later rows are not known yet, so a column is as wide as the widest value so far. */
async function* lines(found: AsyncIterable<Change>): AsyncGenerator<string> {
  let width = 0;
  for await (const change of found) {
    const { seq, at, source, kind, id, reason, company_name, round_name } = change;
    width = Math.max(width, source.length);
    // "changed" is the usual reason and would confuse readers after the kind "removed".
    const why = reason === null || reason === 'changed' ? '' : `(${reason})`;
    const what = [whatChanged(change), why].filter((text) => text !== '').join(' ');
    const names = [round_name, company_name].filter((name) => name !== null).join(' · ');
    const about = [id ?? '-', names, what].filter((text) => text !== '').join('  ');
    const line = `${String(seq).padStart(7)}  ${at}  ${source.padEnd(width)}  ${kind.padEnd(8)}  ${about}`;
    yield `${printable(line.trimEnd())}\n`;
  }
}

/**
 * Returns each changed column with its values, such as `status active → canceled`, and only its name when they are not
 * known or when the column is of identity.
 */
function whatChanged({ fields, before, after }: Change): string {
  const parts = fields.map((field) => {
    const [was, is] = [before, after].map((columns) => columns?.[field as keyof ChangedColumns]);
    return was === undefined || is === undefined ? field : `${field} ${shown(was)} → ${shown(is)}`;
  });
  return parts.join(before === null || after === null ? ',' : ', ');
}

const charactersMax = 60;

function shown(value: Json): string {
  if (value === null || value === '') return 'none';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}

async function* jsonLines(found: AsyncIterable<Change>): AsyncGenerator<string> {
  for await (const change of found) yield `${JSON.stringify(change)}\n`;
}

async function* jsonArray(found: AsyncIterable<Change>): AsyncGenerator<string> {
  let before = '[';
  for await (const change of found) {
    yield `${before}${JSON.stringify(change)}`;
    before = ',\n';
  }
  yield before === '[' ? '[]\n' : ']\n';
}
