import { counted, grouped } from '../../domain/counted.js';
import type { EndpointHealth, FullStatus, SourceStatus, WebhookSpacing } from '../../reading/status.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { ago, duration } from '../output/words.js';
import { quarantineQuery } from '../quarantine-query.js';
import { stateLine } from './sources-list.js';

export const status: Command = {
  name: 'status',
  summary: 'Show the state of every source',
  examples: [
    ['rosterd status', 'one screen; of more than 50 sources the worst'],
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
    const { location, config } = await mirrorOf(context);
    const { statusOf } = await import('../../reading/status.js');
    const { askDaemons } = await import('../../reading/daemon-address.js');
    const known = await askDaemons(location, config, io.clock);
    // One screen: with many sources, a line of counts and the worst of them.
    const part = options.flag('json') ? {} : { sourcesMax: screenMax };
    const document = await statusOf(location, io.clock, config, known, part);
    if (options.flag('json')) out.json(document);
    else show(document, context);
    return options.flag('check') && document.health !== 'ok' ? exitCodes.failed : exitCodes.done;
  },
};

/** With more sources, the screen has the worst of them. */
const screenMax = 50;
const worstMax = 20;

const columns = ['SOURCE', 'STATE', 'ROWS', 'COMPLETE UP TO', 'LAST TICK', 'CURSOR'];

function show(document: FullStatus, { out, io }: CommandContext): void {
  const now = io.clock.now();
  const { counts } = document;
  const sources = document.truncated ? document.sources.slice(0, worstMax) : document.sources;
  if (document.truncated) {
    out.line(stateLine({ ...counts, sources_total: counts.sources, matching: counts.sources }));
    out.line(`the ${sources.length} worst; the others: rosterd sources list`);
  }
  // Only a running daemon knows it.
  const isSpacingKnown = sources.some(({ webhook_spacing }) => webhook_spacing !== null);
  out.table(
    [...columns, ...(isSpacingKnown ? ['WEBHOOKS'] : [])].map((title) => ({ title })),
    sources.map((source) => [...cellsOf(source, now), ...(isSpacingKnown ? [webhooksOf(source)] : [])]),
  );
  for (const source of sources) for (const line of remarks(source)) out.line(`${source.source}: ${line}`);
  const ofNoSource = document.problems.filter(({ source }) => source === undefined);
  for (const { text, since } of [...ofNoSource, ...document.waits])
    out.line(`${text} (since ${ago(since, now)})`);
  if (document.endpoint !== null) for (const line of endpointRemarks(document.endpoint)) out.line(line);
  for (const line of fleetRemarks(document, now)) out.line(line);
  const { inbox, notices, alerts, erasures } = document;
  const queued = ({ pending, oldest_at }: FullStatus['notices']) =>
    `waiting ${pending}${oldest_at === null ? '' : ` (the oldest came ${ago(oldest_at, now)})`}`;
  out.line(
    `webhooks ${queued(inbox)}, notices ${queued(notices)}, ` +
      `${alerts.pending === 0 ? '' : `alert messages ${queued(alerts)}, `}` +
      `erasures pending ${erasures.pending}, newest change ${document.change_seq}`,
  );
  if (document.backup !== null) out.line(backupRemark(document.backup, now));
  if (document.exports !== null) out.line(exportsRemark(document.exports, now));
  if (document.lake !== null) out.line(lakeRemark(document.lake, now));
  for (const hook of document.after_sync) out.line(hookRemark(hook, now));
  for (const [count, noun, query] of [
    [inbox.given_up, 'webhook', 'SELECT event, source, investment, received_at FROM webhook_inbox'],
    [notices.given_up, 'notice', 'SELECT * FROM notices'],
    [alerts.given_up, 'alert message', 'SELECT * FROM alert_rows'],
  ] as const)
    if (count > 0)
      out.line(`${counted(count, noun)} given up: rosterd query "${query} WHERE state = 'given_up'"`);
  if (erasures.since !== null)
    out.line(`oldest erasure not yet scrubbed from the database files: ${ago(erasures.since, now)}`);
}

function cellsOf(source: SourceStatus, now: number): readonly string[] {
  const isArriving = source.listing_started_at !== null && source.readable !== 1;
  return [
    source.source,
    stateOf(source),
    isArriving ? `${grouped(source.rows_incoming)} arriving` : grouped(source.rows),
    ago(source.complete_up_to, now),
    source.last_tick_at === null ? 'never' : `${source.last_outcome}, ${ago(source.last_tick_at, now)}`,
    source.cursor_days_left === null ? '-' : `${counted(source.cursor_days_left, 'day')} left`,
  ];
}

function stateOf({ state, health, meaning, paused_at }: SourceStatus): string {
  if (paused_at !== null) return `${state} (paused)`;
  if (state === 'empty') return meaning;
  return health === 'ok' ? state : `${state} (${health})`;
}

function webhooksOf({ webhook_spacing: spacing }: SourceStatus): string {
  if (spacing === null) return '-';
  if (spacing.reason === 'plenty') return 'at once';
  return spacing.reason === 'scarce' ? `every ${exact(spacing.gap_seconds)}` : 'wait';
}

/** Explains why webhooks are not read at once; null when they are. */
function whyWebhooksWait({ reason, gap_seconds, wait_seconds, quota }: WebhookSpacing): string | null {
  const left =
    quota === null
      ? 'the request quota'
      : `${grouped(quota.left)} of ${grouped(quota.limit)} requests of ${quota.of === 'token' ? 'the token' : 'this address'} are left until ${quota.resets_at}`;
  switch (reason) {
    case 'scarce':
      return `after a webhook, the feed is read at most every ${exact(gap_seconds)}: ${left}${sharers(quota)}`;
    case 'spent':
      return `webhooks wait ${exact(wait_seconds)}: ${left}`;
    case 'backing_off':
      return `webhooks wait ${exact(wait_seconds)}: the last tick failed`;
    case 'plenty':
    case 'halted':
      return null;
  }
}

/** Says that several sources divide what is left, if they do. */
function sharers(quota: WebhookSpacing['quota']): string {
  if (quota === null || quota.shared_by < 2) return '';
  const { shared_by, shared_elsewhere } = quota;
  const away = shared_elsewhere === 0 ? '' : `, ${grouped(shared_elsewhere)} of them on other hosts`;
  return `, for ${grouped(shared_by)} sources with webhooks${away}`;
}

const exact = (seconds: number): string =>
  seconds < 60 ? `${Math.ceil(seconds * 10) / 10} s` : duration(seconds * 1000);

function remarks(source: SourceStatus): string[] {
  const lines: string[] = [];
  const { health, state } = source;
  if (state === 'empty' && source.last_tick_at === null)
    lines.push(`not started: rosterd sync --source ${source.source}`);
  else if (health === 'working' || health === 'failing' || state === 'halted') lines.push(source.meaning);
  if (source.listing !== null) lines.push(`listing: ${source.listing.text}`);
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
    lines.push(
      'no names are stored: at the last check the token could not read identity, or its follow rule drops it',
    );
  if (source.names_note !== null) lines.push(source.names_note);
  const waits = source.webhook_spacing === null ? null : whyWebhooksWait(source.webhook_spacing);
  if (waits !== null) lines.push(waits);
  return lines;
}

/** Prints nothing for a single daemon. Reports a dead one until its entry is removed a day later. */
function fleetRemarks({ fleet }: FullStatus, now: number): string[] {
  if (fleet === null || fleet.length < 2) return [];
  return fleet.map(({ host, alive, leads, sources_count, seen_at }) => {
    if (alive === 0) return `${host} was last seen ${ago(seen_at, now)}`;
    return `${host} follows ${counted(sources_count, 'source')}${leads === 1 ? ', sends notices and runs maintenance' : ''}`;
  });
}

function endpointRemarks({ state, message, hint, reenabledAt }: EndpointHealth): string[] {
  const lines = [`webhook endpoint ${state}${message === null ? '' : `: ${message}`}`];
  if (hint !== null) lines.push(`  ${hint}`);
  if (reenabledAt !== null) lines.push(`  was found disabled and enabled again at ${reenabledAt}`);
  return lines;
}

function backupRemark(
  { folder, newest_at, newest_file, overdue }: NonNullable<FullStatus['backup']>,
  now: number,
): string {
  if (newest_at === null) return `no scheduled backup in ${folder} yet`;
  return `newest backup ${ago(newest_at, now)}: ${newest_file}${overdue ? '; the next one is overdue' : ''}`;
}

function exportsRemark(
  { folder, newest_at, newest_folder, overdue }: NonNullable<FullStatus['exports']>,
  now: number,
): string {
  if (newest_at === null) return `no scheduled export in ${folder} yet`;
  return `newest export ${ago(newest_at, now)}: ${newest_folder}${overdue ? '; the next one is overdue' : ''}`;
}

function lakeRemark({ folder, synced_at, overdue }: NonNullable<FullStatus['lake']>, now: number): string {
  if (synced_at === null) return `no lake in ${folder} yet`;
  return `lake up to date ${ago(synced_at, now)}: ${folder}${overdue ? '; the next sync is overdue' : ''}`;
}

function hookRemark(
  { hook, ran_at, succeeded_at, last_error, attempts, next_at }: FullStatus['after_sync'][number],
  now: number,
): string {
  const name = `after-sync hook ${hook}`;
  if (last_error !== null) {
    const next = next_at === null ? 'waits for the next change' : `next attempt at ${next_at}`;
    return `${name} failed${attempts > 1 ? ` ${attempts} times` : ''}, last ${ago(ran_at, now)}: ${last_error}; ${next}`;
  }
  return succeeded_at === null ? `${name} has not run yet` : `${name} ran ${ago(succeeded_at, now)}`;
}

function lifeLeft(days: number): string {
  return days < 0 ? 'may have expired already' : `expires in ${counted(days, 'day')}`;
}
