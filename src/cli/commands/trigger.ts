import { Fault } from '../../domain/fault.js';
import { parseInstant } from '../../domain/instant.js';
import type { TriggerName } from '../../tasks/trigger.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Options } from '../options.js';
import { sandboxUrl, sandboxUrlOption } from '../sandbox-url.js';

export const trigger: Command = {
  name: 'trigger',
  summary: 'Trigger an event in a running sandbox',
  examples: [
    ['rosterd trigger investment.created --company co_… --count 3', 'three new investments'],
    ['rosterd trigger investment.changed --company co_… --set status=canceled', 'one is canceled'],
    ['rosterd trigger investment.changed inv_… --set amounts.committed_cents=777700', 'this one changes'],
    ['rosterd trigger churn --changes 500', '500 random changes'],
    ['rosterd trigger clock --advance 3d', 'moves its clock three days ahead'],
    [
      'rosterd trigger deactivate usr_…; rosterd trigger revoke inst_…',
      'deactivates a user; revokes an installation',
    ],
    ['rosterd trigger reset', 'restores the seeded data'],
  ],
  args: [
    {
      name: '<event>',
      summary:
        'investment.created, .changed, .canceled or .withdrawn; churn, clock, deactivate, revoke, reset',
    },
    { name: '[id]', summary: 'the investment, user or installation it happens to' },
  ],
  options: [
    ...configOptions.filter(({ flags }) => flags.startsWith('--config')),
    sandboxUrlOption,
    { flags: '--company <id>', summary: 'company of the investments', once: true },
    { flags: '--set <field=value>', summary: 'a field of the record and its new value', repeats: true },
    { flags: '--count <number>', summary: 'number of events (default: 1)' },
    { flags: '--changes <number>', summary: 'number of changes for churn' },
    { flags: '--advance <time>', summary: 'for clock: 90s, 15m, 6h, 3d' },
    { flags: '--now <time>', summary: 'for clock: an ISO 8601 time' },
    jsonOption,
  ],
  async run(context) {
    const { args, options, out, signal } = context;
    const daemon = await import('../../tasks/trigger.js');
    const [event = '', id] = args;
    if (!daemon.isTrigger(event)) {
      throw new Fault('usage', `${JSON.stringify(event)} cannot be triggered`, {
        hint: Object.entries(daemon.triggers)
          .map(([name, does]) => `${name}: ${does}`)
          .join('\n  '),
      });
    }
    refuseUnused(event, id, options, daemon.triggers[event]);
    const bounds = { min: 1, max: 100_000 };
    const set = options.list('set');
    const done = await daemon.trigger(
      event,
      {
        id,
        company: options.text('company'),
        set: set.length === 0 ? undefined : fieldsIn(set),
        count: options.whole('changes', bounds) ?? options.whole('count', bounds) ?? 1,
        advanceSeconds: secondsIn(options.text('advance')),
        now: timeIn(options.text('now')),
      },
      { url: await sandboxUrl(context), signal },
    );
    if (options.flag('json')) out.json(done);
    else if (event === 'clock') out.line(`the sandbox's clock is at ${String(done.answer.now)}`);
    else if (event === 'reset') out.line('the sandbox is back at its seed');
    else for (const one of done.ids) out.line(one);
    return exitCodes.done;
  },
};

const chosenInvestments = ['an id', '--company', '--count', '--changes'];

/** What each event takes. Anything else would have no effect: `reset` with a company resets all of them. */
const taken: Readonly<Record<TriggerName, readonly string[]>> = {
  'investment.created': ['--company', '--set', '--count', '--changes'],
  'investment.changed': ['--set', ...chosenInvestments],
  'investment.canceled': ['--set', ...chosenInvestments],
  'investment.withdrawn': chosenInvestments,
  churn: ['--company', '--count', '--changes'],
  clock: ['--advance', '--now'],
  deactivate: ['an id'],
  revoke: ['an id'],
  reset: [],
};

function refuseUnused(event: TriggerName, id: string | undefined, options: Options, hint: string): void {
  const flags = ['company', 'set', 'count', 'changes', 'advance', 'now'].filter(
    (name) => options.text(name) !== undefined || options.list(name).length > 0,
  );
  const given = [...(id === undefined ? [] : ['an id']), ...flags.map((name) => `--${name}`)];
  const unused = given.find((one) => !taken[event].includes(one));
  if (unused !== undefined) throw new Fault('usage', `${event} does not take ${unused}`, { hint });
  // The number of investments, and what says which ones.
  for (const pair of [
    ['--count', '--changes'],
    ['an id', '--company'],
    ['an id', '--count'],
    ['an id', '--changes'],
  ])
    if (pair.every((one) => given.includes(one)))
      throw new Fault('usage', `${pair.join(' and ')}: give one of them`, { hint });
}

/** Turns `amounts.committed_cents=5` and `status=canceled` into fields of a record; a value that is not JSON is text. */
export function fieldsIn(settings: readonly string[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    const steps = setting.slice(0, equals).split('.');
    if (equals < 1 || steps.some((step) => !/^[a-z_]+$/.test(step))) {
      throw new Fault('usage', `--set ${JSON.stringify(setting)} is not FIELD=VALUE`, {
        hint: '--set status=canceled, --set amounts.committed_cents=777700',
      });
    }
    let at = record;
    for (const step of steps.slice(0, -1)) {
      const inner = (Object.hasOwn(at, step) ? at[step] : undefined) ?? {};
      if (typeof inner !== 'object' || Array.isArray(inner))
        throw new Fault('usage', `--set ${JSON.stringify(setting)}: another --set gave ${step} a value`);
      at[step] = inner;
      at = inner as Record<string, unknown>;
    }
    at[steps.at(-1) ?? ''] = jsonOrText(setting.slice(equals + 1));
  }
  return record;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** A century. */
const advanceSecondsMax = 36_500 * 86_400;

function secondsIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const seconds = Number(amount) * (unitSeconds[unit] ?? Number.NaN);
  if (seconds <= advanceSecondsMax) return seconds;
  throw new Fault('usage', `--advance is ${JSON.stringify(text)}`, {
    hint: '90s, 15m, 6h or 3d, at most 36500d; --now moves the clock to a time, an earlier one too',
  });
}

function timeIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = parseInstant(text);
  if (time !== undefined) return time;
  throw new Fault('usage', `--now is ${JSON.stringify(text)}`, {
    hint: 'a time with its zone, such as 2026-12-01T00:00:00Z',
  });
}
