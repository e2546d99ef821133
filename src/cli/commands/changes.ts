import { type Fault, isFault } from '../../domain/fault.js';
import { printable } from '../../domain/printable.js';
import type { Change } from '../../reading/changes.js';
import type { Command } from '../command.js';
import { databaseOptions, placeOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { writePieces } from '../output/write-pieces.js';

export const changes: Command = {
  name: 'changes',
  summary: 'What changed in the mirror, in the order of commit',
  examples: [
    ['rosterd changes --since 1200', 'everything after change 1200'],
    ['rosterd changes --follow --json | while read -r line; do …; done', 'as it happens, one object a line'],
  ],
  options: [
    ...databaseOptions,
    { flags: '--since <seq>', summary: 'only changes with a greater number (default: 0, all of them)' },
    { flags: '--source <name>', summary: 'only this source' },
    { flags: '--follow', summary: 'go on with new ones until Ctrl-C or SIGTERM, which end it with 0' },
    { flags: '--json', summary: 'one JSON array; with --follow one object a line' },
  ],
  async run(context) {
    const { options, io, signal } = context;
    const after = options.whole('since', { min: 0, max: 999_999_999_999_999 }) ?? 0;
    const source = options.text('source');
    const place = await placeOf(context);
    const { readChanges } = await import('../../reading/changes.js');
    const follow = options.flag('follow');
    const ask = {
      ...{ after, follow, ...(source === undefined ? {} : { source }) },
      onWait: ({ message }: Fault) =>
        void io.stderr.write(`rosterd: ${printable(message)}; it is asked again until it answers\n`),
    };
    const form = !options.flag('json') ? lines : follow ? jsonLines : jsonArray;
    try {
      await readChanges(place, ask, io.clock, signal, (found) => writePieces(io.stdout, form(found), signal));
    } catch (error) {
      // Whoever follows has seen all there was; whoever asked for a list has not.
      if (!(follow && isFault(error, 'stopped'))) throw error;
    }
    return exitCodes.done;
  },
};

/** What is still to come is not known: a column is as wide as the widest so far. */
async function* lines(found: AsyncIterable<Change>): AsyncGenerator<string> {
  let width = 0;
  for await (const { seq, at, source, kind, id, fields, reason } of found) {
    width = Math.max(width, source.length);
    // Nearly all are published for that reason; behind "removed" it would only puzzle.
    const why = reason === null || reason === 'changed' ? '' : `(${reason})`;
    const what = [fields.join(','), why].filter((text) => text !== '').join(' ');
    const line = `${String(seq).padStart(7)}  ${at}  ${source.padEnd(width)}  ${kind.padEnd(8)}  ${id ?? '-'}  ${what}`;
    yield `${printable(line.trimEnd())}\n`;
  }
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
