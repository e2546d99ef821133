import type { EndpointHealth, FullStatus, SourceStatus } from '../../daemon/status.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { duration, grouped } from '../output/progress.js';

export const status: Command = {
  name: 'status',
  summary: 'Where every source stands',
  examples: [
    ['rosterd status', 'one screen for people'],
    ['rosterd status --json', 'everything, for programs'],
    ['rosterd status --check', 'exit 1 unless every source is up to date'],
  ],
  options: [
    ...databaseOptions,
    jsonOption,
    { flags: '--check', summary: 'exit 1 when a source is behind, failing or waits for a human' },
  ],
  async run(context) {
    const { out, options, io } = context;
    const { file, config } = await mirrorOf(context);
    const { statusOf } = await import('../../daemon/status.js');
    const interval = config?.sync.intervalSeconds;
    const document = await statusOf(file, io.clock, config?.receiver?.endpoint?.file ?? null, interval);
    if (options.flag('json')) out.json(document);
    else show(document, context);
    return options.flag('check') && document.health !== 'ok' ? exitCodes.failed : exitCodes.done;
  },
};

const columns = ['SOURCE', 'STATE', 'ROWS', 'COMPLETE UP TO', 'LAST TICK', 'CURSOR'].map((title) => ({
  title,
}));

function show(document: FullStatus, { out, io }: Parameters<Command['run']>[0]): void {
  const now = io.clock.now();
  out.table(
    columns,
    document.sources.map((source) => [
      source.source,
      source.health === 'ok' ? source.state : `${source.state} (${source.health})`,
      source.readable === 1 ? grouped(source.rows) : `${grouped(source.rows_incoming)} arriving`,
      ago(source.complete_up_to, now),
      `${source.last_outcome ?? 'none'}, ${ago(source.last_tick_at, now)}`,
      source.cursor_days_left === null ? '-' : `${source.cursor_days_left} days left`,
    ]),
  );
  for (const source of document.sources)
    for (const line of remarks(source)) out.line(`${source.source}: ${line}`);
  if (document.endpoint !== null) for (const line of endpointRemarks(document.endpoint)) out.line(line);
  const { inbox, notices, erasures } = document;
  out.line(
    `webhooks waiting ${inbox.pending}, notices waiting ${notices.pending}, ` +
      `erasures pending ${erasures.pending}, newest change ${document.change_seq}`,
  );
  if (notices.given_up > 0)
    out.line(
      `${grouped(notices.given_up)} notices were given up: rosterd query "SELECT * FROM notices WHERE state = 'given_up'"`,
    );
  if (erasures.since !== null)
    out.line(`erased identities still in the file since ${ago(erasures.since, now)}`);
}

function remarks(source: SourceStatus): string[] {
  const lines: string[] = [];
  if (source.health !== 'ok') lines.push(source.meaning);
  if (source.last_error !== null && source.health !== 'ok') lines.push(source.last_error);
  if (source.stale) lines.push('nobody looked for a while: is `rosterd run` running?');
  if (source.retry_at !== null) lines.push(`tries again at ${source.retry_at}`);
  if (source.deletions_waiting !== null) {
    lines.push(
      `a re-listing would delete ${grouped(source.deletions_waiting)} rows: rosterd sync --accept-deletions`,
    );
  }
  if (source.cursor_old) {
    lines.push(
      `the position in the feed is old and ${lifeLeft(source.cursor_days_left ?? 0)}; then everything is listed again`,
    );
  }
  if (source.quarantine_open > 0) lines.push(`${grouped(source.quarantine_open)} records in quarantine`);
  if (source.identity_included === 0) lines.push('the token may not read identity');
  return lines;
}

function endpointRemarks({ state, message, hint, reenabledAt }: EndpointHealth): string[] {
  const lines = [`webhook endpoint ${state}${message === null ? '' : `: ${message}`}`];
  if (hint !== null) lines.push(`  ${hint}`);
  if (reenabledAt !== null) lines.push(`  was found switched off and switched on again at ${reenabledAt}`);
  return lines;
}

function lifeLeft(days: number): string {
  return days < 0 ? 'may be void already' : `is void in ${days} days`;
}

function ago(time: string | null, now: number): string {
  return time === null ? 'never' : `${duration(Math.max(0, now - Date.parse(time)))} ago`;
}
