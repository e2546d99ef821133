import { counted, grouped } from '../../domain/counted.js';
import type { FaultCode } from '../../domain/fault.js';
import type { AmountDifference, Drift, VerifiedSource, VerifyReceipt } from '../../tasks/verify.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources, enginePartsOf } from '../engine-of.js';
import { type ExitCode, exitCodeOfFault, exitCodes, worstOf } from '../exit-codes.js';
import { nextStep } from '../next-step.js';
import { quarantineQuery } from '../quarantine-query.js';

/** Enough for three sources with a few rounds each and the default sample, and far below a token's hourly quota. */
const callsDefault = 100;
const sampleDefault = 20;

export const verify: Command = {
  name: 'verify',
  summary: 'Check that the mirror equals the platform, and list every difference',
  examples: [
    ['rosterd verify', 'compares counts and sums of every round, and a sample of records'],
    ['rosterd verify --full --calls 2000', 'compares every record; one call reads one page'],
    ['rosterd verify --source acme --repair', 'if acme differs, lists it again and verifies again'],
  ],
  options: [
    ...configOptions,
    { flags: '--source <name>', summary: 'only this source', repeats: true },
    { flags: '--sample <n>', summary: `records to compare one by one (default: ${sampleDefault})` },
    { flags: '--seed <n>', summary: 'repeat the sample of an earlier receipt' },
    { flags: '--full', summary: 'compare every record' },
    { flags: '--repair', summary: 'list a source that differs again, then verify again' },
    {
      flags: '--calls <n>',
      summary: `most requests to send, not counting repairs (default: ${callsDefault})`,
    },
    jsonOption,
  ],
  async run(context) {
    const { out, options, signal } = context;
    const ask = {
      sample: options.whole('sample', { min: 0, max: 100_000 }) ?? sampleDefault,
      calls: options.whole('calls', { min: 1, max: 1_000_000 }) ?? callsDefault,
      full: options.flag('full'),
      repair: options.flag('repair'),
    };
    const seed = options.whole('seed', { min: 0, max: 2 ** 32 - 1 });
    const loaded = await configOf(context);
    const sources = await chosenSources(loaded, options.list('source'));
    const { verify } = await import('../../tasks/verify.js');
    const parts = { ...(await enginePartsOf(context, loaded)), sources };
    const chosen = seed ?? parts.random.bytes(4).readUInt32BE();
    const receipt = await verify(parts, { ...ask, seed: chosen }, signal);
    if (options.flag('json')) out.json(receipt);
    else show(receipt, context);
    return worstOf(receipt.sources.map(exitCodeOf));
  },
};

type Context = Parameters<Command['run']>[0];

const columns = [
  'SOURCE',
  'OUTCOME',
  'ROWS',
  'ROUNDS',
  'COUNTED',
  'COMMITTED CENTS',
  'RAISED CENTS',
  'SAMPLE',
  'LISTED',
  'UP TO',
].map((title) => ({ title }));

function show({ sources, calls, at }: VerifyReceipt, { out }: Context): void {
  out.table(columns, sources.map(rowOf));
  for (const source of sources) {
    for (const one of source.drift.slice(0, shownMax)) out.line(`${source.source}: ${sentenceOf(one)}`);
    if (source.drift.length > shownMax)
      out.line(`${source.source}: and ${grouped(source.drift.length - shownMax)} more, see --json`);
    for (const line of remarks(source)) out.line(`${source.source}: ${line}`);
  }
  // The limit counts anew after a repair, which has none.
  const limit = sources.some(({ repair }) => repair !== null) ? ', repairs included' : ` of ${calls.allowed}`;
  out.line(`verified at ${at} with ${calls.spent} calls${limit}`);
  for (const source of sources) explain(source, out);
}

/** One or two screens of differences; `--json` prints all of them. */
const shownMax = 50;

function rowOf({ source, outcome, rows, stats, sample, full, published_through }: VerifiedSource): string[] {
  return [
    source,
    outcome,
    grouped(rows),
    stats === null ? '-' : String(stats.offerings),
    stats === null ? '-' : grouped(stats.total.count),
    stats === null ? '-' : grouped(stats.total.committed_cents),
    stats === null ? '-' : grouped(stats.total.raised_cents),
    sample === null ? '-' : String(sample.compared),
    full === null ? '-' : grouped(full.listed),
    published_through ?? '-',
  ];
}

/** Says of a company, round or post when it was listed, since it may only have changed after that. */
const sentenceOf = (drift: Drift): string =>
  'listed_at' in drift
    ? `${differenceOf(drift)} (last listed ${drift.listed_at ?? 'never'}, due again about ${drift.due_at})`
    : differenceOf(drift);

const isOfCatalog = (drift: Drift): boolean => 'listed_at' in drift;

function differenceOf(drift: Drift): string {
  switch (drift.kind) {
    case 'tally':
      return `${drift.offering}, ${drift.status}: ${drift.amounts.map(amountText).join(', ')}`;
    case 'record': {
      const amounts = drift.amounts.length === 0 ? '' : `: ${drift.amounts.map(amountText).join(', ')}`;
      return `${drift.id} differs in ${drift.columns.join(', ')}${amounts}`;
    }
    case 'missing':
      return `${drift.id} is on the platform and not in the mirror`;
    case 'extra':
      return `${drift.id} is in the mirror and not on the platform`;
    case 'doubted':
      return `${drift.id} awaits deletion in the mirror and is on the platform`;
  }
}

function amountText({ column, held, platform }: AmountDifference): string {
  return `${column} mirror ${held ?? 'none'}, platform ${platform ?? 'none'}`;
}

function remarks({
  outcome,
  stats,
  sample,
  full,
  quarantined,
  unsettled,
  repair,
  catalog,
  awaiting_deletion: awaiting,
}: VerifiedSource): string[] {
  const lines = (stats?.skipped ?? []).map(({ offering, why }) => `${offering} was not counted: ${why}`);
  if (sample !== null && sample.unpublished > 0)
    lines.push(`${sample.unpublished} of the sample changed and are not published yet`);
  const unreadable = Math.max(full?.unreadable ?? 0, quarantined);
  if (unreadable > 0)
    lines.push(`${counted(unreadable, 'record')} could not be read: in quarantine, and not compared`);
  else if (outcome === 'incomplete') lines.push('nothing was compared: neither a count nor a record');
  if (catalog !== null) lines.push(`companies, rounds and posts compared: ${grouped(catalog)}`);
  if (unsettled.length > 0) lines.push(`kept changing and could not be compared: ${unsettled.join(', ')}`);
  if (awaiting > 0)
    lines.push(
      `${counted(awaiting, 'row')} awaiting deletion: missing from the last listing, and counted above only in ROWS`,
    );
  if (repair !== null) {
    const { outcome, added, changed, removed, drift } = repair;
    const what = drift.every(isOfCatalog)
      ? 'companies, rounds and posts were listed again'
      : `${added} added, ${changed} changed, ${removed} removed`;
    lines.push(`repair of ${counted(drift.length, 'difference')} ${outcome}: ${what}`);
  }
  return lines;
}

function explain(verified: VerifiedSource, out: Context['out']): void {
  const { source, outcome, ended, full, quarantined, awaiting_deletion } = verified;
  if (ended !== null) {
    out.error(`${source}: ${ended.message}`);
    out.note(`Try: ${wayOn(source, ended)}`);
  }
  if (awaiting_deletion > 0)
    out.note(`Look: rosterd query "SELECT * FROM awaiting_deletion WHERE source = '${source}'"`);
  if (outcome === 'incomplete') {
    if (quarantined > 0 || (full?.unreadable ?? 0) > 0) out.note(`Look: ${quarantineQuery(source)}`);
    else out.note(`Try: rosterd verify --source ${source} --full, which compares with a listing`);
  }
  if (outcome === 'awaiting') out.note(`To delete: rosterd sync --source ${source} --accept-deletions`);
  if (outcome === 'drift') explainDrift(verified, out);
}

function wayOn(source: string, ended: NonNullable<VerifiedSource['ended']>): string {
  // A person ends these, not time.
  if (ended.code === 'database_full' || ended.code === 'database_unusable') return nextStep[ended.code];
  if (ended.retry_at !== null) return `again after ${ended.retry_at}`;
  return ended.hint ?? nextStep[ended.code].replace('NAME', source);
}

function explainDrift({ source, drift, full, repair }: VerifiedSource, out: Context['out']): void {
  if (full === null && drift.some(({ kind }) => kind === 'tally'))
    out.note(`Try: rosterd verify --source ${source} --full, which names the records`);
  if (repair !== null) return;
  // Without --full, nothing compares companies and rounds, so nothing would be repaired.
  const whole = drift.some(isOfCatalog) ? ' --full' : '';
  const what = drift.every(isOfCatalog) ? 'companies, rounds and posts' : 'it';
  out.note(`Try: rosterd verify --source ${source}${whole} --repair, which lists ${what} again`);
}

function exitCodeOf({ outcome, ended }: VerifiedSource): ExitCode {
  if (outcome === 'equal') return exitCodes.done;
  // Rows awaiting deletion are stored but not on the platform, so the mirror is not equal and the run must not exit 0.
  // Unreadable records are missing from it or out of date, and a run that compared nothing proves nothing.
  if (outcome === 'drift' || outcome === 'awaiting' || outcome === 'incomplete') return exitCodes.drift;
  return outcome === 'failed' && ended !== null
    ? exitCodeOfFault[ended.code satisfies FaultCode]
    : exitCodes.stopped;
}
