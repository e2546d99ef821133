import { counted, grouped } from '../../domain/counted.js';
import type { EndpointHealth, FullStatus, SourceStatus } from '../../reading/status.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { ago } from '../output/words.js';
import { quarantineQuery } from '../quarantine-query.js';

export const status: Command = {
  name: 'status',
  summary: 'Show the state of every source',
  examples: [
    ['rosterd status', 'one screen'],
    ['rosterd status --json', 'all details, for programs'],
    ['rosterd status --check', 'exit 1 unless every source is up to date and readable'],
  ],
  options: [
    ...databaseOptions,
    jsonOption,
    {
      flags: '--check',
      summary:
        'exit 1 when a source is behind, failing, waiting for a human, or has rows in quarantine or awaiting deletion',
    },
  ],
  async run(context) {
    const { out, options, io } = context;
    const { place, config } = await mirrorOf(context);
    const { statusOf } = await import('../../reading/status.js');
    const { askDaemons } = await import('../../reading/daemon-address.js');
    const document = await statusOf(place, io.clock, config, await askDaemons(place, config, io.clock));
    if (options.flag('json')) out.json(document);
    else show(document, context);
    return options.flag('check') && document.health !== 'ok' ? exitCodes.failed : exitCodes.done;
  },
};

const columns = ['SOURCE', 'STATE', 'ROWS', 'COMPLETE UP TO', 'LAST TICK', 'CURSOR'].map((title) => ({
  title,
}));

function show(document: FullStatus, { out, io }: CommandContext): void {
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
  for (const source of document.sources)
    for (const line of remarks(source)) out.line(`${source.source}: ${line}`);
  for (const { text, since, source } of document.problems)
    if (source === undefined) out.line(`${text} (since ${ago(since, now)})`);
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
    out.line(`oldest erasure not yet scrubbed from the database files: ${ago(erasures.since, now)}`);
}

function stateOf({ state, health, meaning }: SourceStatus): string {
  if (state === 'empty') return meaning;
  return health === 'ok' ? state : `${state} (${health})`;
}

function remarks(source: SourceStatus): string[] {
  const lines: string[] = [];
  const { health, state } = source;
  if (state === 'empty' && source.last_tick_at === null)
    lines.push(`not started: rosterd sync --source ${source.source}`);
  else if (health === 'working' || health === 'failing' || state === 'halted') lines.push(source.meaning);
  if (source.last_error !== null && health !== 'ok' && source.last_outcome !== 'done')
    lines.push(source.last_error);
  for (const { text } of source.concerns) lines.push(text);
  if (source.retry_at !== null) lines.push(`next attempt at ${source.retry_at}`);
  if (source.awaiting_deletion > 0) {
    lines.push(
      `${counted(source.awaiting_deletion, 'row')} awaiting_deletion, missing from the last listing: rosterd sync --source ${source.source} --accept-deletions`,
    );
  }
  if (source.cursor_old) {
    lines.push(
      `the feed cursor is old and ${lifeLeft(source.cursor_days_left ?? 0)}; once it expires, everything is listed again`,
    );
  }
  if (source.quarantine_open > 0) {
    lines.push(
      `${counted(source.quarantine_open, 'record')} in quarantine, so not shown as they are on the platform: ${quarantineQuery(source.source)}`,
    );
  }
  if (source.identity_included === 0)
    lines.push('no names are stored: at the last check the token could not read identity');
  if (source.names_note !== null) lines.push(source.names_note);
  return lines;
}

/** Prints nothing for a single daemon. Reports a dead one until its entry is removed a day later. */
function fleetRemarks({ fleet }: FullStatus, now: number): string[] {
  if (fleet === null || fleet.length < 2) return [];
  return fleet.map(({ host, alive, leads, sources, seen_at }) => {
    if (alive === 0) return `${host} was last seen ${ago(seen_at, now)}`;
    return `${host} follows ${counted(sources.length, 'source')}${leads === 1 ? ', sends notices and runs maintenance' : ''}`;
  });
}

function endpointRemarks({ state, message, hint, reenabledAt }: EndpointHealth): string[] {
  const lines = [`webhook endpoint ${state}${message === null ? '' : `: ${message}`}`];
  if (hint !== null) lines.push(`  ${hint}`);
  if (reenabledAt !== null) lines.push(`  was found disabled and enabled again at ${reenabledAt}`);
  return lines;
}

function lifeLeft(days: number): string {
  return days < 0 ? 'may have expired already' : `expires in ${counted(days, 'day')}`;
}
