import type { SourceConfig } from '../config/config.js';
import { counted } from '../domain/counted.js';
import { millisOf, parseInstant } from '../domain/instant.js';
import { type OverallState, worstFirst } from '../domain/overall-state.js';
import type { FullStatus } from '../reading/status.js';
import type { SourceStatus, StatusDocument } from '../store/reads/status.js';
import { type Check, fail, pass, skip, warn } from './check.js';
import { signInCommand } from './sign-in-command.js';

/** A webhook is worked within seconds; after five minutes nothing is draining the inbox. */
const inboxMillisMax = 5 * 60_000;
/** The longest pause between two attempts at a notice, unless its receiver asks for a longer one. */
const noticeMillisMax = 15 * 60_000;
/** A scrub normally runs within minutes; the promised maximum is a day. */
const scrubMillisWarn = 3_600_000;
const scrubMillisMax = 24 * 3_600_000;
/** Enough time for an operator to return from a holiday. */
const cursorDaysWarn = 14;

/** Sources of follow rules that are named. */
const namedMax = 20;
const illStates: ReadonlySet<OverallState> = new Set(['halted', 'failing', 'stale', 'attention']);

const perSource = ['health', 'cursor', 'quarantine', 'catalog'];
/** Concerns checked here; those a daemon reports have their own check. */
const concernsOfMirror = new Set(['unfollowed', 'overdue', 'clock_ahead']);

/** Checks what the mirror's own status reports. */
export function mirrorChecks(
  status: FullStatus | null,
  sources: readonly Pick<SourceConfig, 'name' | 'access'>[],
): readonly Check[] {
  const names = ['inbox', 'notices', 'erasures'];
  if (status === null) {
    const skipped = [...sources.flatMap(({ name }) => perSource.map((one) => `${one}.${name}`)), ...names];
    return skipped.map((name) => skip(name, 'there is no usable database'));
  }
  const now = millisOf(status.at);
  return [
    ...sources.flatMap((source) =>
      sourceChecks(
        { name: source.name, signIn: signInCommand(source) },
        status.sources.find((one) => one.source === source.name),
      ),
    ),
    ...ruleChecks(status.sources, new Set(sources.map(({ name }) => String(name)))),
    ...status.sources
      .filter(({ followed, follow }) => !followed && follow === null)
      .map(({ source, concerns }) =>
        warn(
          `health.${source}`,
          concerns.map(({ text }) => text).join('; '),
          'rosterd config show; then add it to the sources of config.json',
        ),
      ),
    inboxCheck(status.inbox, now),
    noticesCheck(status, now),
    ...status.after_sync.map(hookCheck),
    erasuresCheck(status.erasures, now),
  ];
}

/** Names the worst of the sources of follow rules that fail or need a person, with what is wrong only: there may be thousands. */
function ruleChecks(sources: readonly SourceStatus[], listed: ReadonlySet<string>): readonly Check[] {
  const ill = sources
    .filter(({ source, followed, follow }) => followed && follow !== null && !listed.has(source))
    .filter(({ overall }) => illStates.has(overall))
    .toSorted(worstFirst);
  const checks = ill
    .slice(0, namedMax)
    .flatMap((source) =>
      sourceChecks({ name: source.source, signIn: `rosterd sync --source ${source.source}` }, source),
    )
    .filter(({ verdict }) => verdict === 'warn' || verdict === 'fail');
  if (ill.length <= namedMax) return checks;
  const others = `${counted(ill.length - namedMax, 'other source')} of follow rules also fail or need a person`;
  return [...checks, warn('health', others, 'rosterd sources list')];
}

interface Checked {
  readonly name: string;
  /** The command that renews its token. */
  readonly signIn: string;
}

function sourceChecks(configured: Checked, source: SourceStatus | undefined): readonly Check[] {
  const { name } = configured;
  if (source === undefined || (source.state === 'empty' && source.last_tick_at === null)) {
    return [
      warn(`health.${name}`, 'it was never synced', `rosterd sync --source ${name}`),
      ...perSource.slice(1).map((one) => skip(`${one}.${name}`, 'it was never synced')),
    ];
  }
  return [
    healthCheck(configured, source),
    cursorCheck(name, source),
    quarantineCheck(name, source),
    catalogCheck(name, source),
  ];
}

function healthCheck({ name, signIn }: Checked, source: SourceStatus): Check {
  const check = `health.${name}`;
  const why = source.last_error === null ? '' : `: ${source.last_error}`;
  if (source.state === 'halted') {
    const mend =
      source.last_error_code === 'filters_changed'
        ? `rosterd sync --source ${name} --resync`
        : ['unauthorized', 'reauthorize', 'forbidden'].includes(source.last_error_code ?? '')
          ? signIn
          : `rosterd sync --source ${name}`;
    return fail(check, `stopped, a person has to help${why}`, mend);
  }
  if (source.last_outcome === 'failed')
    return fail(check, `the last attempt failed${why}`, `rosterd sync --source ${name}`);
  const concern = source.concerns.find(({ code }) => concernsOfMirror.has(code));
  if (concern !== undefined) return fail(check, concern.text, 'rosterd run');
  const misplaced = source.concerns.find(({ code }) => code === 'feed_behind' || code === 'feed_ahead');
  if (misplaced !== undefined) return warn(check, misplaced.text, `rosterd verify --source ${name}`);
  if (source.awaiting_deletion > 0)
    return fail(
      check,
      `${counted(source.awaiting_deletion, 'row')} that the last listing did not name ${source.awaiting_deletion === 1 ? 'awaits' : 'await'} deletion`,
      `rosterd sync --source ${name} --accept-deletions`,
    );
  if (source.names_note !== null) return warn(check, source.names_note, 'rosterd run');
  // `attention` for quarantine alone: it has its own check.
  return source.health === 'ok' || source.health === 'attention'
    ? pass(check, source.meaning)
    : warn(check, source.meaning, `rosterd sync --source ${name}`);
}

function cursorCheck(name: string, { cursor_days_left: days }: SourceStatus): Check {
  const check = `cursor.${name}`;
  if (days === null) return skip(check, 'there is no cursor yet');
  const mend = `rosterd sync --source ${name}`;
  if (days < 0) return warn(check, 'the cursor has expired; everything is listed again', mend);
  return days < cursorDaysWarn
    ? warn(check, `the cursor expires in ${counted(days, 'day')}`, mend)
    : pass(check, `the cursor is valid for ${counted(days, 'day')}`);
}

function quarantineCheck(name: string, { quarantine_open: open }: SourceStatus): Check {
  const check = `quarantine.${name}`;
  if (open === 0) return pass(check, 'every record could be read');
  return warn(
    check,
    `${counted(open, 'record')} could not be read`,
    `rosterd query "SELECT id, problem, seen_at FROM quarantine WHERE source = '${name}' AND resolved_at IS NULL"`,
  );
}

/** Companies, rounds, their numbers and posts: what the platform does not serve leaves investments without names. */
function catalogCheck(name: string, source: SourceStatus): Check {
  const check = `catalog.${name}`;
  const { collections_problem: problem, collections_listed_at: listedAt } = source;
  if (problem !== null)
    return warn(
      check,
      `not everything about companies and rounds could be read: ${problem}`,
      `rosterd query "SELECT collection, problem, problem_since FROM collections WHERE source = '${name}'"`,
    );
  return listedAt === null
    ? skip(check, 'companies and rounds were not listed yet')
    : pass(check, `companies and rounds were listed at ${listedAt} or later`);
}

function inboxCheck({ pending, given_up, oldest_at }: StatusDocument['inbox'], now: number): Check {
  const oldest = ageOf(oldest_at, now);
  if (pending > 0 && oldest > inboxMillisMax)
    return warn('inbox', `${counted(pending, 'webhook')} waiting since ${oldest_at}`, 'rosterd run');
  return given_up > 0
    ? warn(
        'inbox',
        `${counted(given_up, 'webhook')} given up`,
        'rosterd query "SELECT * FROM webhook_inbox WHERE state = \'given_up\'"',
      )
    : pass('inbox', `${counted(pending, 'webhook')} waiting`);
}

function noticesCheck({ notices, alerts }: Pick<StatusDocument, 'notices' | 'alerts'>, now: number): Check {
  for (const [queue, noun, relation] of [
    [notices, 'notice', 'notices'],
    [alerts, 'alert message', 'alert_rows'],
  ] as const) {
    const query = `SELECT * FROM ${relation} WHERE state =`;
    if (queue.given_up > 0)
      return warn(
        'notices',
        `${counted(queue.given_up, noun)} given up`,
        `rosterd query "${query} 'given_up'"`,
      );
    if (queue.pending > 0 && ageOf(queue.oldest_at, now) > noticeMillisMax)
      return warn(
        'notices',
        `${counted(queue.pending, noun)} waiting since ${queue.oldest_at}`,
        `rosterd query "${query} 'pending' ORDER BY queued_at LIMIT 5"; last_error says why`,
      );
  }
  return pass('notices', `${counted(notices.pending, 'notice')} waiting`);
}

function hookCheck({ hook, last_error, ran_at, succeeded_at }: FullStatus['after_sync'][number]): Check {
  const check = `after_sync.${hook}`;
  if (last_error !== null)
    return warn(
      check,
      `its last run (${ran_at}) failed: ${last_error}`,
      'rosterd config show; then try it by hand',
    );
  return succeeded_at === null ? skip(check, 'it has not run yet') : pass(check, `it ran at ${succeeded_at}`);
}

function erasuresCheck({ pending, since }: StatusDocument['erasures'], now: number): Check {
  const age = ageOf(since, now);
  const overdue = `${counted(pending, 'erasure')} whose bytes are not scrubbed yet, since ${since}`;
  if (age > scrubMillisMax) return fail('erasures', overdue, 'rosterd run');
  return age > scrubMillisWarn
    ? warn('erasures', overdue, 'rosterd run')
    : pass('erasures', 'none is overdue');
}

function ageOf(time: string | null, now: number): number {
  const instant = parseInstant(time);
  return instant === undefined ? 0 : now - millisOf(instant);
}
