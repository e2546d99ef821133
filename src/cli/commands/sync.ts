import { counted } from '../../domain/counted.js';
import { Fault, isFault } from '../../domain/fault.js';
import { parseId } from '../../domain/ids.js';
import { type Instant, millisOf } from '../../domain/instant.js';
import type { SyncedOnce } from '../../tasks/sync-once.js';
import type { Part, syncPart as SyncPart } from '../../tasks/sync-part.js';
import type { SyncedSoFar } from '../../tasks/sync-progress.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources, enginePartsOf } from '../engine-of.js';
import { type ExitCode, exitCodeOfFault, exitCodes, worstOf } from '../exit-codes.js';
import { nextStep } from '../next-step.js';
import type { Options } from '../options.js';
import type { ProgressState } from '../output/progress.js';
import { duration } from '../output/words.js';
import { quarantineQuery } from '../quarantine-query.js';

export const sync: Command = {
  name: 'sync',
  summary: 'Bring each source up to date once, then exit',
  examples: [
    ['rosterd sync', 'every source; exit 1 if a record could not be read'],
    ['rosterd sync --source acme --resync', 'list acme again; its stored rows stay readable meanwhile'],
    ['rosterd sync --accept-deletions', 'delete the rows that await deletion'],
    ['rosterd sync --wait', 'a first listing of more records than one hour allows'],
    ['rosterd sync --round ofr_…', 'read the investments of one round again'],
  ],
  options: [
    ...configOptions,
    { flags: '--source <name>', summary: 'only this source', repeats: true },
    { flags: '--resync', summary: 'list every record again and apply the differences' },
    {
      flags: '--accept-deletions',
      summary:
        'delete the rows that await deletion; with --resync, every row the new listing does not contain',
    },
    {
      flags: '--wait',
      summary: "when the hour's quota is used up, wait for the next and go on to the end",
    },
    { flags: '--investment <id>', summary: 'only read this investment again; deletes nothing', once: true },
    {
      flags: '--round <id>',
      summary: 'only read the investments of this round again; deletes nothing',
      once: true,
    },
    jsonOption,
  ],
  async run(context) {
    const { io, out, options, signal } = context;
    const part = partOf(options);
    const loaded = await configOf(context);
    const sources = await chosenSources(loaded, options.list('source'));
    if (part !== null)
      return await readAgain(part, { ...(await enginePartsOf(context, loaded)), sources }, context);
    const { syncOnce } = await import('../../tasks/sync-once.js');
    const progress = out.progress('sync', io.clock);
    let pages = 0;
    const parts = { ...(await enginePartsOf(context, loaded)), sources };
    const ask = { resync: options.flag('resync'), acceptDeletions: options.flag('acceptDeletions') };
    const codes: ExitCode[] = [];
    const onUnfollowed = (rule: string, error: unknown) => {
      codes.push(explainRule(rule, error, context));
    };
    const results = await syncOnce(parts, ask, signal, {
      ...(options.list('source').length > 0 ? {} : { onUnfollowed }),
      onUnfinished: ({ code, message, about: { hint } }) => {
        out.error(message);
        if (hint !== undefined) out.note(`Try: ${hint}`);
        codes.push(exitCodeOfFault[code]);
      },
      onProgress: (sofar) => {
        pages += 1;
        if (io.stderr.isTTY === true || pages > 1) progress.update(() => stateOf(sofar()));
      },
      ...(options.flag('wait') ? { onWait: (...wait) => explainWait(...wait, context) } : {}),
    });
    if (io.stderr.isTTY === true && pages > 0) progress.finish();
    if (options.flag('json'))
      out.json(
        results.map(({ source, report, quarantineOpen, awaitingDeletion, namesNote, listing }) => ({
          source,
          ...report,
          quarantineOpen,
          awaitingDeletion,
          namesNote,
          listing,
        })),
      );
    else out.table(columns, results.map(rowOf));
    for (const result of results) explain(result, context);
    return worstOf([...results.map(exitCodeOf), ...codes]);
  },
};

const stateOf = ({ pages, rows, rowsTotal, listing }: SyncedSoFar): ProgressState => ({
  ...{ pages, rows, rowsTotal },
  left: listing?.text,
});

/** Says what a run waits for, once for each wait. */
function explainWait(
  source: string,
  until: Instant,
  why: 'rate_limited' | 'lease_lost',
  { out, io }: CommandContext,
): void {
  if (why === 'lease_lost') {
    out.note(`${source}: another process reads it now; waits for that and goes on. Ctrl-C ends it`);
    return;
  }
  const wait = duration(millisOf(until) - io.clock.now());
  out.note(
    `${source}: the request quota is used up; waits until ${until} (in ${wait}) and goes on. Ctrl-C ends it: the fetched pages are kept, and the next rosterd sync goes on`,
  );
}

/** Says why the installations of a rule could not be read; its known sources were synced all the same. */
function explainRule(rule: string, error: unknown, { out }: CommandContext): ExitCode {
  if (!isFault(error)) throw error;
  out.error(`the installations of the rule "${rule}" could not be read: ${error.message}`);
  const hint = error.code === 'reauthorize' ? `rosterd connect --rule ${rule}` : error.about.hint;
  if (hint !== undefined) out.note(`Try: ${hint}`);
  return exitCodeOfFault[error.code];
}

/** Returns what `--investment` or `--round` names, or null. Throws `usage` for anything else than one id. */
function partOf(options: Options): Part | null {
  const [investment, round] = [options.text('investment'), options.text('round')];
  if (investment === undefined && round === undefined) return null;
  const also = ['resync', 'acceptDeletions', 'wait'].some((name) => options.flag(name));
  if ((investment !== undefined && round !== undefined) || also)
    throw new Fault('usage', '--investment and --round stand alone: each reads one part again', {
      hint: 'rosterd sync --round ofr_…',
    });
  const id = parseId('investment', investment);
  if (id !== undefined) return { kind: 'investment', id };
  const offering = parseId('offering', round);
  if (offering !== undefined) return { kind: 'round', id: offering };
  throw new Fault('usage', `--${investment === undefined ? 'round' : 'investment'} is not an id`, {
    hint:
      investment === undefined ? 'the id of a round, which begins with ofr_' : 'an id that begins with inv_',
  });
}

async function readAgain(
  part: Part,
  parts: Parameters<typeof SyncPart>[0],
  { out, options, signal }: CommandContext,
): Promise<ExitCode> {
  const { syncPart } = await import('../../tasks/sync-part.js');
  const read = await syncPart(parts, part, signal);
  if (options.flag('json')) out.json(read);
  else
    out.table(
      ['SOURCE', 'OUTCOME', 'PAGES', 'RECORDS', 'ADDED', 'CHANGED', 'SET ASIDE'].map((title) => ({ title })),
      read.map((one) => [
        ...[one.source, one.outcome],
        ...[one.pages, one.records, one.added, one.changed, one.quarantined].map(String),
      ]),
    );
  for (const { source, missing } of read)
    if (missing > 0)
      out.warn(
        `${source}: the platform does not list ${counted(missing, 'stored investment')}. They are kept, because only the feed or a complete listing deletes records. To run one: rosterd sync --source ${source} --resync`,
      );
  const found = read.some(({ outcome }) => outcome === 'done');
  if (!found) out.error(`${part.id} is not listed by the platform for any of these sources`);
  return found && read.every(({ quarantined }) => quarantined === 0) ? exitCodes.done : exitCodes.failed;
}

const columns = [
  ...['SOURCE', 'OUTCOME', 'MODE', 'PAGES', 'ADDED', 'CHANGED', 'REMOVED', 'SET ASIDE', 'TOOK'],
].map((title) => ({ title }));

function rowOf({ source, report }: SyncedOnce): string[] {
  const { outcome, mode, pages, applied, tookMs } = report;
  const counts = [pages, applied.added, applied.changed, applied.removed, applied.quarantined];
  return [source, outcome, mode, ...counts.map(String), `${tookMs} ms`];
}

function explain(synced: SyncedOnce, context: CommandContext): void {
  explainRows(synced, context);
  const { source, report, listing } = synced;
  const { out } = context;
  if (report.outcome === 'done') return;
  out.error(`${source}: ${report.message ?? report.outcome}`);
  if (listing !== null && (listing.rows > 0 || listing.rows_expected !== null))
    out.note(`${source}: ${listing.text}`);
  // The message of a `usage` fault names what to change. The command line was understood.
  if (report.outcome === 'failed' && report.retryAt === null && report.code !== 'usage')
    out.note(`Try: ${nextStep[report.code ?? 'internal'].replace('NAME', source)}`);
  for (const note of wayOn(synced, context)) out.note(note);
}

/** Explains what is not shown as it is on the platform although the listing or the feed was read. */
function explainRows(
  { source, report, quarantineOpen, awaitingDeletion, namesNote }: SyncedOnce,
  { out }: CommandContext,
): void {
  const { quarantined: unreadable } = report.applied;
  const [unread, awaiting] = [quarantineOpen ?? 0, awaitingDeletion ?? 0];
  if (unreadable > 0)
    out.error(
      `${source}: ${counted(unreadable, 'record')} could not be read and ${unreadable === 1 ? 'is' : 'are'} in quarantine`,
    );
  else if (unread > 0)
    out.warn(`${source}: ${counted(unread, 'record')} in quarantine since an earlier sync`);
  if (unread > 0) out.note(`Try: ${quarantineQuery(source)}`);
  if (awaiting > 0) {
    out.warn(
      `${source}: ${counted(awaiting, 'row')} missing from the last listing ${awaiting === 1 ? 'awaits' : 'await'} deletion; everything else is published`,
    );
    out.note(`Look: rosterd query "SELECT * FROM awaiting_deletion WHERE source = '${source}'"`);
    out.note(`To delete: rosterd sync --source ${source} --accept-deletions`);
  }
  if (namesNote !== null) out.warn(`${source}: ${namesNote}`);
}

/** Returns how to go on after a sync that did not reach its end. */
function wayOn({ report }: SyncedOnce, { io, signal, options }: CommandContext): readonly string[] {
  const kept = 'The fetched pages are kept.';
  if (report.outcome === 'stopped' && signal.aborted) return [`${kept} Try: rosterd sync`];
  if (report.lasting === true) return [`${kept} Do that, then try: rosterd sync`];
  // A person ends this, not time.
  if (report.code === 'database_full' || report.code === 'database_unusable')
    return [`${kept} Try: ${nextStep[report.code]}`];
  if (report.retryAt === null) return [];
  const wait = duration(millisOf(report.retryAt) - io.clock.now());
  const later = `${kept} Try: rosterd sync after ${report.retryAt} (in ${wait})`;
  if (report.code !== 'rate_limited' || options.flag('wait')) return [later];
  return [later, 'To wait for the quota and go on: rosterd sync --wait'];
}

function exitCodeOf({ report }: SyncedOnce): ExitCode {
  // The other records are up to date, but a run with unreadable records must not look complete.
  if (report.outcome === 'done') return report.applied.quarantined > 0 ? exitCodes.failed : exitCodes.done;
  if (report.outcome === 'waiting' || report.outcome === 'stopped') return exitCodes.stopped;
  return report.code === null ? exitCodes.failed : exitCodeOfFault[report.code];
}
