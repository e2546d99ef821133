import { grouped } from '../../domain/counted.js';
import type { SourceShown } from '../../reading/sources.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { ago, duration } from '../output/words.js';
import { whyOf } from './sources-list.js';

export const sourcesShow: Command = {
  name: 'sources show',
  summary: 'Show one source: what it mirrors, its state and why, its last ticks',
  examples: [
    ['rosterd sources show acme', 'one screen'],
    ['rosterd sources show acme --json', 'all details, for programs'],
  ],
  args: [{ name: '<name>', summary: 'the name of the source' }],
  options: [...databaseOptions, jsonOption],
  async run(context) {
    const { args, options, out, io } = context;
    const { location, config } = await mirrorOf(context);
    const { noSource, showSource } = await import('../../reading/sources.js');
    const { askDaemons } = await import('../../reading/daemon-address.js');
    const name = args[0] ?? '';
    const known = await askDaemons(location, config, io.clock, name);
    const shown = await showSource(location, io.clock, config, known, name);
    if (shown === null) throw noSource(name);
    if (options.flag('json')) out.json(shown);
    else show(shown, context);
    return exitCodes.done;
  },
};

function show(one: SourceShown, { out, io }: CommandContext): void {
  const now = io.clock.now();
  const fact = (title: string, value: string | null) => {
    if (value !== null) out.line(`${title.padEnd(15)} ${value}`);
  };
  fact('source', one.source);
  fact('state', one.overall === 'fine' ? `fine: ${one.meaning}` : `${one.overall}: ${whyOf(one)}`);
  for (const { text } of one.concerns) if (text !== whyOf(one)) fact('', text);
  fact('mirrors', mirrorsOf(one));
  fact('origin', originOf(one));
  fact('installation', one.installation);
  fact('token', one.token);
  fact('rows', rowsOf(one));
  fact('listing', one.listing?.text ?? null);
  fact(
    'complete up to',
    one.complete_up_to === null ? 'no listing is complete' : ago(one.complete_up_to, now),
  );
  fact('last success', ago(one.last_success_at, now));
  if (one.last_error !== null && one.last_error !== whyOf(one))
    fact('last error', `${one.last_error} (${ago(one.last_error_at, now)})`);
  fact('cursor', one.cursor_days_left === null ? null : `${one.cursor_days_left} days left`);
  fact('names', one.names_note);
  fact('webhooks', spacingOf(one));
  fact('quota', quotaOf(one));
  fact(
    'paused',
    one.paused_at === null ? null : `since ${one.paused_at}; rosterd sources resume ${one.source}`,
  );
  fact('erased', one.follow?.erased_at ?? null);
  fact('erase after', one.follow?.erased_at == null ? (one.follow?.erase_after ?? null) : null);
  if (one.ticks.length === 0) {
    fact('last ticks', 'none');
    return;
  }
  out.line();
  out.table(
    ['TICK BEGAN', 'RUN', 'PAGES', '+ ~ -', 'TOOK', 'OUTCOME'].map((title) => ({ title })),
    one.ticks.map((tick) => [
      ago(tick.started_at, now),
      tick.mode === 'none' ? tick.trigger : `${tick.trigger} ${tick.mode}`,
      grouped(tick.pages),
      `${grouped(tick.added)} ${grouped(tick.changed)} ${grouped(tick.removed)}`,
      tick.took_ms < 10_000 ? `${tick.took_ms} ms` : duration(tick.took_ms),
      tick.code === null ? tick.outcome : `${tick.outcome}: ${tick.code}`,
    ]),
  );
}

function mirrorsOf({ company_id, company_name }: SourceShown): string {
  if (company_id === null) return 'every investment that its token can read';
  return company_name === null ? company_id : `${company_name} (${company_id})`;
}

function originOf({ origin, rule }: SourceShown): string {
  if (origin === 'listed') return 'listed in the configuration';
  if (origin === 'followed') return `created by the follow rule ${rule}`;
  return 'not in the configuration: only its rows are left';
}

function rowsOf({ rows, rows_incoming, quarantine_open, awaiting_deletion }: SourceShown): string {
  return [
    grouped(rows),
    ...(rows_incoming > 0 ? [`${grouped(rows_incoming)} arriving`] : []),
    ...(quarantine_open > 0 ? [`${grouped(quarantine_open)} in quarantine`] : []),
    ...(awaiting_deletion > 0 ? [`${grouped(awaiting_deletion)} await deletion`] : []),
  ].join(', ');
}

/** Only a running daemon knows it. */
function spacingOf({ webhook_spacing: spacing }: SourceShown): string | null {
  if (spacing === null) return null;
  if (spacing.reason === 'plenty') return 'start a tick at once';
  if (spacing.reason === 'scarce')
    return `start a tick at most every ${duration(spacing.gap_seconds * 1_000)}`;
  return `wait ${duration(spacing.wait_seconds * 1_000)} (${spacing.reason.replaceAll('_', ' ')})`;
}

function quotaOf({ webhook_spacing: spacing }: SourceShown): string | null {
  const quota = spacing?.quota ?? null;
  if (quota === null) return null;
  const of = quota.of === 'token' ? 'its token' : 'this address';
  return `${grouped(quota.left)} of ${grouped(quota.limit)} requests of ${of} are left until ${quota.resets_at}`;
}
