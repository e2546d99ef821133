import { grouped } from '../../domain/counted.js';
import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import type { Tick } from '../../reading/runs.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { duration } from '../output/words.js';

const limitUsual = 20;

export const runs: Command = {
  name: 'runs',
  summary: 'List the last ticks: when, why, what they changed and how they ended',
  examples: [
    ['rosterd runs', 'the last 20 of every source, newest first'],
    ['rosterd runs --source acme --limit 100', 'the last 100 of one source'],
    ['rosterd runs --json', 'every column, for programs'],
  ],
  options: [
    ...databaseOptions,
    { flags: '--source <name>', summary: 'only this source', once: true },
    { flags: '--limit <number>', summary: `how many to list (default: ${limitUsual})` },
    jsonOption,
  ],
  async run(context) {
    const { out, options } = context;
    const max = options.whole('limit', { min: 1, max: 10_000 }) ?? limitUsual;
    const source = options.text('source');
    const { location } = await mirrorOf(context);
    const { runs } = await import('../../reading/runs.js');
    const ticks = await runs(location, { max, ...defined({ source }) });
    if (source !== undefined && ticks.length === 0)
      throw new Fault('usage', `there is no tick of a source called ${JSON.stringify(source)}`, {
        hint: 'rosterd status, which lists the sources',
      });
    if (options.flag('json')) {
      out.json(ticks);
      return exitCodes.done;
    }
    const cells = ticks.map(rowOf);
    const lines = out.layout(columns, cells);
    for (const [index, tick] of ticks.entries()) {
      for (const line of lines(cells[index] ?? [], index)) out.styled(line);
      if (tick.message !== null) out.line(`    ${tick.message}`);
    }
    if (ticks.length === 0) out.line('no tick yet');
    return exitCodes.done;
  },
};

const columns = ['BEGAN (UTC)', 'SOURCE', 'RUN', 'PAGES', 'CHANGES', 'TOOK', 'OUTCOME'].map((title) => ({
  title,
}));

function rowOf(tick: Tick): string[] {
  const { started_at, source, trigger, mode, pages, took_ms, outcome, code } = tick;
  return [
    started_at.slice(0, 19).replace('T', ' '),
    source,
    mode === 'none' ? trigger : `${trigger} ${mode}`,
    grouped(pages),
    changesOf(tick),
    took_ms < 10_000 ? `${took_ms} ms` : duration(took_ms),
    code === null ? outcome : `${outcome}: ${code}`,
  ];
}

/** `+` added, `~` changed, `-` removed, `!` put in quarantine. */
function changesOf({ added, changed, removed, quarantined }: Tick): string {
  const parts = [
    ['+', added],
    ['~', changed],
    ['-', removed],
    ['!', quarantined],
  ] as const;
  return parts.flatMap(([sign, count]) => (count === 0 ? [] : [`${sign}${grouped(count)}`])).join(' ') || '-';
}
