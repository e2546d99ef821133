import { counted } from '../../domain/counted.js';
import { millisOf } from '../../domain/instant.js';
import type { SyncedOnce } from '../../tasks/sync-once.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources, enginePartsOf } from '../engine-of.js';
import { type ExitCode, exitCodeOfFault, exitCodes, worstOf } from '../exit-codes.js';
import { nextStep } from '../next-step.js';
import { quarantineQuery } from '../quarantine-query.js';

export const sync: Command = {
  name: 'sync',
  summary: 'Bring each source up to date once, then exit',
  examples: [
    ['rosterd sync', 'every source; exit 1 if a record could not be read'],
    ['rosterd sync --source acme --resync', 'list acme again; its stored rows stay readable meanwhile'],
    ['rosterd sync --accept-deletions', 'delete the rows that await deletion'],
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
    jsonOption,
  ],
  async run(context) {
    const { io, out, options, signal } = context;
    const loaded = await configOf(context);
    const sources = chosenSources(loaded, options.list('source'));
    const { syncOnce } = await import('../../tasks/sync-once.js');
    const progress = out.progress('sync', io.clock);
    let pages = 0;
    let rows = 0;
    const onPage = (_source: string, more: number) => {
      pages += 1;
      rows += more;
      if (io.stderr.isTTY === true || pages > 1) progress.update({ pages, rows });
    };
    const parts = { ...(await enginePartsOf(context, loaded)), sources, onPage };
    const ask = { resync: options.flag('resync'), acceptDeletions: options.flag('acceptDeletions') };
    const results = await syncOnce(parts, ask, signal);
    if (io.stderr.isTTY === true && pages > 0) progress.finish();
    if (options.flag('json'))
      out.json(
        results.map(({ source, report, quarantineOpen, awaitingDeletion, namesNote }) => ({
          source,
          ...report,
          quarantineOpen,
          awaitingDeletion,
          namesNote,
        })),
      );
    else out.table(columns, results.map(rowOf));
    for (const result of results) explain(result, context);
    return worstOf(results.map(exitCodeOf));
  },
};

const columns = [
  ...['SOURCE', 'OUTCOME', 'MODE', 'PAGES', 'ADDED', 'CHANGED', 'REMOVED', 'SET ASIDE', 'TOOK'],
].map((title) => ({ title }));

function rowOf({ source, report }: SyncedOnce): string[] {
  const { outcome, mode, pages, applied, tookMs } = report;
  const counts = [pages, applied.added, applied.changed, applied.removed, applied.quarantined];
  return [source, outcome, mode, ...counts.map(String), `${tookMs} ms`];
}

function explain(
  { source, report, standing, quarantineOpen, awaitingDeletion, namesNote }: SyncedOnce,
  { out, io }: Parameters<Command['run']>[0],
): void {
  const { quarantined: setAside } = report.applied;
  if (setAside > 0)
    out.error(
      `${source}: ${counted(setAside, 'record')} could not be read and ${setAside === 1 ? 'is' : 'are'} in quarantine`,
    );
  else if (quarantineOpen > 0)
    out.warn(`${source}: ${counted(quarantineOpen, 'record')} in quarantine since an earlier sync`);
  if (quarantineOpen > 0) out.note(`Try: ${quarantineQuery(source)}`);
  if (awaitingDeletion > 0) {
    out.warn(
      `${source}: ${counted(awaitingDeletion, 'row')} missing from the last listing ${awaitingDeletion === 1 ? 'awaits' : 'await'} deletion; everything else is published`,
    );
    out.note(`Look: rosterd query "SELECT * FROM awaiting_deletion WHERE source = '${source}'"`);
    out.note(`To delete: rosterd sync --source ${source} --accept-deletions`);
  }
  if (namesNote !== null) out.warn(`${source}: ${namesNote}`);
  if (report.outcome === 'done') return;
  out.error(`${source}: ${report.message ?? report.outcome}`);
  if (report.outcome === 'failed' && report.retryAt === null)
    out.note(`Try: ${nextStep[report.code ?? 'internal']}`);
  if (report.lasting === true) out.note('The fetched pages are kept. Do that, then try: rosterd sync');
  else if (report.retryAt !== null && standing?.kind !== 'halted') {
    const seconds = Math.max(0, Math.ceil((millisOf(report.retryAt) - io.clock.now()) / 1000));
    out.note(`The fetched pages are kept. Try: rosterd sync after ${report.retryAt} (in ${seconds} s)`);
  }
}

function exitCodeOf({ report }: SyncedOnce): ExitCode {
  // The other records are up to date, but a run with unreadable records must not look complete.
  if (report.outcome === 'done') return report.applied.quarantined > 0 ? exitCodes.failed : exitCodes.done;
  if (report.outcome === 'waiting' || report.outcome === 'stopped') return exitCodes.stopped;
  return report.code === null ? exitCodes.failed : exitCodeOfFault[report.code];
}
