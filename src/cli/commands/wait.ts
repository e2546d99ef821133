import { Fault } from '../../domain/fault.js';
import { fewOf } from '../../domain/one-of.js';
import type { Configured, Freshness } from '../../reading/freshness.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { type ChosenMirror, databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import type { Options } from '../options.js';
import { ago, duration } from '../output/words.js';

const minuteMillis = 60_000;

export const wait: Command = {
  name: 'wait',
  summary: 'Wait until the mirror is fresh: for cron jobs and notebooks',
  examples: [
    ['rosterd wait --fresh 5m && python3 report.py', 'runs the report on data at most five minutes old'],
    [
      'rosterd wait --fresh 1h --source acme --timeout 0',
      'checks once: exit 0 fresh, 5 not yet, 3 a human must act',
    ],
  ],
  options: [
    ...databaseOptions,
    { flags: '--fresh <age>', summary: 'greatest age of the data, such as 90s, 5m or 12h (default: 5m)' },
    { flags: '--source <name>', summary: 'only this source; may be repeated', repeats: true },
    { flags: '--timeout <time>', summary: 'give up after this time with exit 5 (default: 10m)' },
    jsonOption,
  ],
  async run(context) {
    const { io, options, out, signal } = context;
    const ageMillis = durationOf(options, 'fresh', 5 * minuteMillis);
    const timeoutMillis = durationOf(options, 'timeout', 10 * minuteMillis);
    const chosen = await mirrorOf(context);
    const { waitForFreshness } = await import('../../reading/freshness.js');
    const sources = options.list('source');
    const ask = { ageMillis, timeoutMillis, sources, configured: configuredIn(chosen) };
    const seen = await waitForFreshness(chosen.location, ask, io.clock, signal);
    if (options.flag('json')) out.json(seen);
    else show(seen, context);
    if (seen.verdict === 'fresh') return exitCodes.done;
    return complain(seen, ask.timeoutMillis, context);
  },
};

function configuredIn({ config }: ChosenMirror): Configured | null {
  if (config === null) return null;
  return { listed: config.sources.map(({ name }) => name), rules: config.follows.map(({ rule }) => rule) };
}

const dayMillis = 86_400_000;
const unitMillis: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: dayMillis };
/** Ten years. Much more would be before the first year of the calendar. */
const daysMax = 3_650;

/** Returns `90s`, `5m`, `12h`, `2d` or 0 in milliseconds. Throws `usage` for anything else, such as a bare number. */
function durationOf(options: Options, name: string, usualMillis: number): number {
  const text = options.text(name);
  if (text === undefined) return usualMillis;
  const match = /^(\d{1,6})([smhd])$/.exec(text.trim());
  if (text.trim() === '0') return 0;
  const unit = unitMillis[match?.[2] ?? ''];
  const millis = match === null || unit === undefined ? null : Number(match[1]) * unit;
  if (millis !== null && millis <= daysMax * dayMillis) return millis;
  throw new Fault('usage', `--${name} is ${JSON.stringify(text)}`, {
    hint: `a whole number with its unit, such as 90s, 5m, 12h or 2d, and at most ${daysMax}d`,
  });
}

const columns = ['SOURCE', 'COMPLETE UP TO', 'STATE'].map((title) => ({ title }));

function show({ sources }: Freshness, { out, io }: CommandContext): void {
  out.table(
    columns,
    sources.map(({ source, complete_up_to: upTo, meaning }) => [
      source,
      upTo === null ? 'nothing yet' : `${upTo} (${ago(upTo, io.clock.now())})`,
      meaning,
    ]),
  );
}

function complain(seen: Freshness, waitedMillis: number, { out }: CommandContext) {
  const stale = seen.sources.filter(({ fresh }) => !fresh);
  if (seen.verdict === 'human') {
    for (const { source, meaning, last_error: error } of stale.filter(({ human }) => human))
      out.error(`${source} needs a person: ${error ?? meaning}`);
    out.note('Try: rosterd doctor, which prints the command that fixes it');
    return exitCodes.reauthorize;
  }
  const names = fewOf(stale.map(({ source }) => source));
  out.error(
    `${names === '' ? 'the mirror' : names} not complete up to ${seen.wanted_up_to}, after ${duration(waitedMillis)}`,
  );
  out.note('Try: rosterd status, which shows the last tick of each source');
  return exitCodes.stopped;
}
