import { counted, grouped } from '../../domain/counted.js';
import { Fault } from '../../domain/fault.js';
import { overallStates } from '../../domain/overall-state.js';
import type { SourceList, SourceListed } from '../../reading/sources.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { ago } from '../output/words.js';

const limitUsual = 50;
const limitMax = 1_000;

export const sourcesList: Command = {
  name: 'sources list',
  summary: 'List sources, the worst first, and count them by state',
  examples: [
    ['rosterd sources list', `the first ${limitUsual}: halted, failing, stale, …`],
    ['rosterd sources list copper', 'those with "copper" in a name or an id'],
    ['rosterd sources list --state failing --limit 200', 'one state, a longer page'],
    ['rosterd sources list --rule crm --page 2 --json', 'one follow rule, for programs'],
  ],
  args: [{ name: '[text]', summary: 'part of a name, of the company, or of an id' }],
  options: [
    ...databaseOptions,
    { flags: '--state <state>', summary: 'only sources in this state', choices: overallStates, once: true },
    { flags: '--rule <name>', summary: 'only sources that this follow rule created', once: true },
    { flags: '--limit <number>', summary: `sources on a page (default: ${limitUsual})` },
    { flags: '--page <number>', summary: 'which page (default: 1)' },
    jsonOption,
  ],
  async run(context) {
    const { args, options, out, io } = context;
    const limit = options.whole('limit', { min: 1, max: limitMax }) ?? limitUsual;
    const page = options.whole('page', { min: 1, max: 1_000_000 }) ?? 1;
    const { location, config } = await mirrorOf(context);
    const { listSources, overallStateNamed } = await import('../../reading/sources.js');
    const { askDaemons } = await import('../../reading/daemon-address.js');
    const { problems } = await askDaemons(location, config, io.clock);
    const list = await listSources(location, io.clock, config, problems, {
      search: args[0] ?? '',
      state: overallStateNamed(options.text('state') ?? ''),
      rule: options.text('rule') ?? null,
      page,
      limit,
    });
    const rule = options.text('rule');
    if (rule !== undefined && !list.rules.includes(rule))
      throw new Fault('usage', `no follow rule called ${JSON.stringify(rule)} has a source`, {
        hint: list.rules.length === 0 ? 'rosterd sources list' : `one of: ${list.rules.join(', ')}`,
      });
    if (options.flag('json')) out.json(list);
    else show(list, context);
    return exitCodes.done;
  },
};

function show(list: SourceList, { out, io }: CommandContext): void {
  const now = io.clock.now();
  out.line(stateLine(list));
  if (list.sources.length > 0)
    out.table(
      ['SOURCE', 'STATE', 'COMPANY', 'ROWS', 'COMPLETE UP TO', 'WHY'].map((title) => ({ title })),
      list.sources.map((one) => [
        one.source,
        one.overall,
        one.company_name ?? one.company_id ?? '-',
        grouped(one.rows),
        one.complete_up_to === null ? '-' : ago(one.complete_up_to, now),
        whyOf(one),
      ]),
    );
  else out.line('no source matches');
  if (list.pages > 1)
    out.note(
      `page ${grouped(list.page)} of ${grouped(list.pages)}${list.page < list.pages ? `; next: --page ${list.page + 1}` : ''}`,
    );
}

/** Returns the number of sources, and how many are in each state. */
export function stateLine({
  by_state,
  matching,
  sources_total,
}: Pick<SourceList, 'by_state' | 'matching' | 'sources_total'>): string {
  const parts = overallStates.flatMap((state) =>
    by_state[state] === 0 ? [] : [`${grouped(by_state[state])} ${state}`],
  );
  const all =
    matching === sources_total
      ? counted(matching, 'source')
      : `${grouped(matching)} of ${counted(sources_total, 'source')}`;
  return parts.length === 0 ? all : `${all}: ${parts.join(', ')}`;
}

/** Returns the reason of a state in a few words; a dash when there is none. */
export function whyOf({
  overall,
  last_error,
  meaning,
  concerns,
  paused_at,
}: Pick<SourceListed, 'overall' | 'last_error' | 'meaning' | 'concerns' | 'paused_at'>): string {
  if (overall === 'fine' || overall === 'erased') return concerns[0]?.text ?? '-';
  if (overall === 'paused') return `since ${paused_at}`;
  if ((overall === 'halted' || overall === 'failing') && last_error !== null) return last_error;
  return concerns[0]?.text ?? last_error ?? meaning;
}
