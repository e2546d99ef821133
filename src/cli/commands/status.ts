import type { Config } from '../../config/config.js';
import type { EndpointHealth, FullStatus, SourceStatus } from '../../daemon/status.js';
import { counted, grouped } from '../../domain/counted.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { ago } from '../output/words.js';
import { quarantineQuery } from '../quarantine-query.js';

export const status: Command = {
  name: 'status',
  summary: 'Where every source stands',
  examples: [
    ['rosterd status', 'one screen for people'],
    ['rosterd status --json', 'everything, for programs'],
    ['rosterd status --check', 'exit 1 unless all is up to date and readable'],
  ],
  options: [
    ...databaseOptions,
    jsonOption,
    {
      flags: '--check',
      summary: 'exit 1 when a source is behind, failing, waits for a human or has records in quarantine',
    },
  ],
  async run(context) {
    const { out, options, io } = context;
    const { place, config } = await mirrorOf(context);
    const { statusOf } = await import('../../daemon/status.js');
    const document = await statusOf(place, io.clock, config);
    if (options.flag('json')) out.json(document);
    else show(document, config, context);
    return options.flag('check') && document.health !== 'ok' ? exitCodes.failed : exitCodes.done;
  },
};

const columns = ['SOURCE', 'STATE', 'ROWS', 'COMPLETE UP TO', 'LAST TICK', 'CURSOR'].map((title) => ({
  title,
}));

function show(document: FullStatus, config: Config | null, { out, io }: CommandContext): void {
  const now = io.clock.now();
  out.table(
    columns,
    document.sources.map((source) => [
      source.source,
      stateOf(source),
      source.listing_started_at === null || source.readable === 1
        ? grouped(source.rows)
        : `${grouped(source.rows_incoming)} arriving`,
      ago(source.complete_up_to, now),
      source.last_tick_at === null ? 'never' : `${source.last_outcome}, ${ago(source.last_tick_at, now)}`,
      source.cursor_days_left === null ? '-' : `${counted(source.cursor_days_left, 'day')} left`,
    ]),
  );
  const followed = config?.sources.map(({ name }) => String(name));
  for (const source of document.sources)
    for (const line of remarks(source, followed?.includes(source.source) ?? true))
      out.line(`${source.source}: ${line}`);
  if (document.endpoint !== null) for (const line of endpointRemarks(document.endpoint)) out.line(line);
  for (const line of fleetRemarks(document, now)) out.line(line);
  const { inbox, notices, erasures } = document;
  out.line(
    `webhooks waiting ${inbox.pending}, notices waiting ${notices.pending}, ` +
      `erasures pending ${erasures.pending}, newest change ${document.change_seq}`,
  );
  if (notices.given_up > 0)
    out.line(
      `${counted(notices.given_up, 'notice')} given up: rosterd query "SELECT * FROM notices WHERE state = 'given_up'"`,
    );
  if (erasures.since !== null)
    out.line(`erased identities still in the bytes of the database since ${ago(erasures.since, now)}`);
}

function stateOf({ state, health, meaning }: SourceStatus): string {
  if (state === 'empty') return meaning;
  return health === 'ok' ? state : `${state} (${health})`;
}

function remarks(source: SourceStatus, followed: boolean): string[] {
  const lines: string[] = [];
  const { health, state } = source;
  if (state === 'empty' && source.last_tick_at === null)
    lines.push(`not started: rosterd sync --source ${source.source}`);
  else if (health === 'working' || health === 'failing' || state === 'held' || state === 'halted')
    lines.push(source.meaning);
  if (source.last_error !== null && health !== 'ok' && source.last_outcome !== 'done')
    lines.push(source.last_error);
  if (!followed) lines.push('not in the configuration: nobody follows it, what is shown gets old');
  else if (source.stale) lines.push('nobody looked for a while: is `rosterd run` running?');
  if (source.retry_at !== null) lines.push(`tries again at ${source.retry_at}`);
  if (source.deletions_waiting !== null) {
    lines.push(
      `a re-listing would delete ${counted(source.deletions_waiting, 'row')}: rosterd sync --accept-deletions`,
    );
  }
  if (source.cursor_old) {
    lines.push(
      `the position in the feed is old and ${lifeLeft(source.cursor_days_left ?? 0)}; then everything is listed again`,
    );
  }
  if (source.quarantine_open > 0) {
    lines.push(
      `${counted(source.quarantine_open, 'record')} in quarantine, not shown as the platform has them: ${quarantineQuery(source.source)}`,
    );
  }
  if (source.identity_included === 0) lines.push('the token may not read identity');
  return lines;
}

/** One daemon alone is nothing to tell of; a silent one is, until it is forgotten a day later. */
function fleetRemarks({ fleet }: FullStatus, now: number): string[] {
  if (fleet === null || fleet.length < 2) return [];
  return fleet.map(({ host, alive, leads, sources, seen_at }) => {
    if (alive === 0) return `${host} was last seen ${ago(seen_at, now)}`;
    return `${host} works ${counted(sources.length, 'source')}${leads === 1 ? ', sends notices and keeps house' : ''}`;
  });
}

function endpointRemarks({ state, message, hint, reenabledAt }: EndpointHealth): string[] {
  const lines = [`webhook endpoint ${state}${message === null ? '' : `: ${message}`}`];
  if (hint !== null) lines.push(`  ${hint}`);
  if (reenabledAt !== null) lines.push(`  was found switched off and switched on again at ${reenabledAt}`);
  return lines;
}

function lifeLeft(days: number): string {
  return days < 0 ? 'may be void already' : `is void in ${counted(days, 'day')}`;
}
