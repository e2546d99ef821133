import type { Check, Verdict } from '../../doctor/doctor.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Diagnose problems and print the command that fixes each; changes nothing',
  examples: [
    ['rosterd doctor', 'checks the machine, the database, the platform and every source'],
    ['rosterd doctor --json', 'the same for a program; exit 1 when any check fails'],
  ],
  options: [
    ...configOptions,
    { flags: '--brief', summary: 'print only warnings, failures and the totals' },
    jsonOption,
  ],
  async run(context) {
    const { io, out, options, signal } = context;
    const [{ diagnose }, { systemRandom }, { silentLogger }] = await Promise.all([
      import('../../doctor/doctor.js'),
      import('../../runtime/random.js'),
      import('../../runtime/logger.js'),
    ]);
    const parts = {
      clock: io.clock,
      random: systemRandom,
      logger: silentLogger,
      nodeVersion: process.versions.node,
    };
    const diagnosis = await diagnose(() => configOf(context), parts, signal);
    if (options.flag('json')) out.json(diagnosis);
    else
      for (const check of diagnosis.checks)
        if (!options.flag('brief') || needsAttention(check)) show(check, context);
    if (!options.flag('json')) out.line(summaryOf(diagnosis.checks));
    return diagnosis.healthy ? exitCodes.done : exitCodes.failed;
  },
};

const verdicts: readonly Verdict[] = ['pass', 'warn', 'fail', 'skip'];

const needsAttention = ({ verdict }: Check): boolean => verdict === 'fail' || verdict === 'warn';

function show({ name, verdict, message, mend }: Check, { out }: Parameters<Command['run']>[0]): void {
  const [first = '', ...more] = message.split('\n');
  out.line(`${verdict.padEnd(4)}  ${name}: ${first}`);
  for (const line of more) out.line(`      ${line.trim()}`);
  if (mend !== null) out.line(out.advice(`      Try: ${mend}`));
}

function summaryOf(checks: readonly Check[]): string {
  return verdicts
    .map((verdict) => `${checks.filter((check) => check.verdict === verdict).length} ${verdict}`)
    .join(', ');
}
