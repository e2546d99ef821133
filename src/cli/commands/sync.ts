import type { SourceResult } from '../../daemon/sync-once.js';
import { millisOf } from '../../domain/instant.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources, enginePartsOf } from '../engine-of.js';
import { type ExitCode, exitCodeOfFault, exitCodes, worstOf } from '../exit-codes.js';
import { Progress } from '../output/progress.js';

export const sync: Command = {
  name: 'sync',
  summary: 'Bring each source up to date once, then end',
  examples: [
    ['rosterd sync', 'every source'],
    ['rosterd sync --source acme --resync', 'list acme again, beside the rows it holds'],
    ['rosterd sync --accept-deletions', 'let a re-listing delete what it stopped at'],
  ],
  options: [
    ...configOptions,
    { flags: '--source <name>', summary: 'only this source', repeats: true },
    { flags: '--resync', summary: 'list everything again and apply the differences' },
    { flags: '--accept-deletions', summary: 'delete more than the brake allows' },
    jsonOption,
  ],
  async run(context) {
    const { io, out, options, signal } = context;
    const loaded = await configOf(context);
    const sources = chosenSources(loaded, options.list('source'));
    const { syncOnce } = await import('../../daemon/sync-once.js');
    const progress = new Progress('sync', io.stderr, io.clock);
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
    if (options.flag('json')) out.json(results.map(({ source, report }) => ({ source, ...report })));
    else out.table(columns, results.map(rowOf));
    for (const result of results) explain(result, context);
    return worstOf(results.map(exitCodeOf));
  },
};

const columns = ['SOURCE', 'OUTCOME', 'MODE', 'PAGES', 'ADDED', 'CHANGED', 'REMOVED', 'TOOK'].map(
  (title) => ({ title }),
);

function rowOf({ source, report }: SourceResult): string[] {
  const { outcome, mode, pages, applied, tookMs } = report;
  const counts = [pages, applied.added, applied.changed, applied.removed];
  return [source, outcome, mode, ...counts.map(String), `${tookMs} ms`];
}

function explain(
  { source, report, standing }: SourceResult,
  { out, io }: Parameters<Command['run']>[0],
): void {
  if (report.outcome === 'done') return;
  out.error(`${source}: ${report.message ?? report.outcome}`);
  if (report.outcome === 'held')
    out.note('Try: rosterd sync --accept-deletions, if that is what happened on the platform');
  if (report.retryAt !== null && standing?.kind !== 'halted') {
    const seconds = Math.max(0, Math.ceil((millisOf(report.retryAt) - io.clock.now()) / 1000));
    out.note(`What was fetched is kept. Try: rosterd sync after ${report.retryAt} (in ${seconds} s)`);
  }
}

function exitCodeOf({ report }: SourceResult): ExitCode {
  if (report.outcome === 'done') return exitCodes.done;
  if (report.outcome === 'waiting' || report.outcome === 'stopped') return exitCodes.stopped;
  return report.code === null ? exitCodes.failed : exitCodeOfFault[report.code];
}
