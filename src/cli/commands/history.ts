import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import { parseId } from '../../domain/ids.js';
import { decimalOfCents } from '../../domain/money.js';
import { shellWord } from '../../domain/shell-word.js';
import type { Version } from '../../reading/history.js';
import { asOf, asOfOption } from '../as-of.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, locationOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';

export const history: Command = {
  name: 'history',
  summary: 'Every version of one investment, newest first',
  examples: [
    ['rosterd history inv_9xKq', 'every version, when it was valid and what ended it'],
    ['rosterd history inv_9xKq --as-of 2026-03-31 --json', 'the complete version of that day'],
  ],
  args: [{ name: '<id>', summary: 'the id of an investment' }],
  options: [
    ...databaseOptions,
    { flags: '--source <name>', summary: 'only in this source', once: true },
    asOfOption,
    jsonOption,
  ],
  async run(context) {
    const { args, options, out, io } = context;
    const id = parseId('investment', args[0]);
    if (id === undefined)
      throw new Fault('usage', `${JSON.stringify(args[0])} is not the id of an investment`, {
        hint: 'ids of investments begin with inv_',
      });
    const moment = asOf(options, io.clock.now());
    const source = options.text('source');
    const location = await locationOf(context);
    const { readHistory } = await import('../../reading/history.js');
    const versions = await readHistory(location, {
      id,
      ...moment,
      ...defined({ source }),
    });
    if (options.flag('json')) out.json(versions.map(withJson));
    else if (versions.length > 0) show(versions, context);
    if (versions.length > 0) return exitCodes.done;
    out.error(
      moment.asOf === undefined
        ? `${id} is not in this mirror, and the mirror has no version of it`
        : `${id} was not in the mirror at ${options.text('asOf')}`,
    );
    out.note(
      moment.asOf === undefined
        ? 'Try: rosterd status, which shows whether its source is complete'
        : `Try: rosterd history ${shellWord(id)}, which lists every stored version`,
    );
    return exitCodes.failed;
  },
};

const titles = [
  'SOURCE',
  'FROM',
  'TO',
  'STATUS',
  'COMMITTED',
  'RAISED',
  'CURRENCY',
  'ENDED BY',
  'DIFFERS IN',
];

function show(versions: readonly Version[], { out }: CommandContext): void {
  out.table(
    titles.map((title) => ({
      title,
      ...(title === 'COMMITTED' || title === 'RAISED' ? { align: 'right' as const } : {}),
    })),
    versions.map((version, index) => [
      ...[version.source, version.valid_from, version.valid_to ?? 'now', version.status],
      ...[amount(version.committed_cents), amount(version.raised_cents), version.currency ?? ''],
      version.ended_by ?? '',
      difference(version, versions[index + 1]),
    ]),
  );
}

const amount = (cents: number | null): string => (cents === null ? '' : decimalOfCents(cents));

/** Columns about the version itself, not about the investment. */
const bookkeeping = new Set(['valid_from', 'valid_to', 'ended_by', 'change_seq', 'observed_at', 'reason']);

/** Returns the names of the fields that differ from the previous version. Versions come newest first. */
function difference(version: Version, before: Version | undefined): string {
  if (before === undefined || before.source !== version.source) return '';
  return Object.entries(version)
    .filter(([name, value]) => !bookkeeping.has(name) && value !== before[name as keyof Version])
    .map(([name]) => name)
    .join(' ');
}

function withJson(version: Version) {
  const { blockers, contracts, extra, ...rest } = version;
  return {
    ...rest,
    blockers: JSON.parse(blockers) as unknown,
    contracts: JSON.parse(contracts) as unknown,
    extra: extra === null ? null : (JSON.parse(extra) as unknown),
  };
}
