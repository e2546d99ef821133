import type { FaultCode } from '../../src/domain/fault.js';
import type { Counters } from './counters.js';
import type { Step } from './database-watch.js';
import type { Act, LetterKind } from './plan.js';
import type { Death } from './power.js';
import type { Mode } from './run-seed.js';
import { type WeatherFault, weatherFaults } from './weather.js';

/*
 * Everything a large batch must have encountered at least once. Closed sets in the sources are closed here too: a
 * new fault code, act, webhook kind or step compiles only once its expected place is declared.
 */

/** The modes in which it must occur; a string is the reason why it never occurs. */
type Where = 'everywhere' | 'fake' | { readonly never: string };

const codes: Readonly<Record<FaultCode, Where>> = {
  rate_limited: 'everywhere',
  unreachable: 'everywhere',
  platform_error: 'everywhere',
  contract_broken: 'everywhere',
  cursor_expired: 'everywhere',
  unauthorized: 'everywhere',
  reauthorize: 'everywhere',
  forbidden: 'everywhere',
  refused: 'everywhere',
  filters_changed: 'fake',
  lease_lost: 'everywhere',
  database_busy: 'everywhere',
  database_full: 'everywhere',
  database_unusable: { never: 'files are damaged by real processes: npm run torture -- --only damaged-file' },
  out_of_descriptors: { never: 'real processes run out of them: test/cli/few-descriptors.long.test.ts' },
  usage: { never: 'no world has a wrong configuration' },
  stopped: 'everywhere',
  internal: { never: 'it is a violation' },
};

const acts: Readonly<Record<Act['kind'], Where>> = {
  publish: 'everywhere',
  restore: 'fake',
  catalog: 'fake',
  catalog_scope: 'fake',
  crash: 'everywhere',
  crash_at: 'everywhere',
  stop: 'everywhere',
  clock_jump: 'everywhere',
  disk_full: 'everywhere',
  locked: 'everywhere',
  expire: 'everywhere',
  access_lost: 'fake',
  revoke: 'everywhere',
  narrow: 'everywhere',
  rotate_hook: 'everywhere',
  rival: 'everywhere',
  suspend: 'everywhere',
  resync: 'everywhere',
  other_company: 'fake',
  letter: 'everywhere',
  analyst: 'everywhere',
};

const letters: Readonly<Record<LetterKind, Where>> = {
  forged: 'everywhere',
  unsigned: 'everywhere',
  stale: 'everywhere',
  malformed: 'everywhere',
  wrong_type: 'everywhere',
  too_large: 'everywhere',
  altered: 'everywhere',
  test: 'everywhere',
  unknown_event: 'everywhere',
  unknown_installation: 'everywhere',
};

const steps: Readonly<Record<Step, Where>> = {
  begin: 'everywhere',
  statement: 'everywhere',
  commit: 'everywhere',
  torn: 'everywhere',
  committed: 'everywhere',
  file: 'everywhere',
};

const deaths: Readonly<Record<Death, Where>> = {
  kill: 'everywhere',
  kill_without_shm: 'everywhere',
  power: 'everywhere',
  torn: 'everywhere',
};

const states = [
  ...['empty', 'listing', 'relisting', 'sweeping', 'following', 'halted', 'rows await deletion'],
];

/** Faults that only the fake platform has: the bundled server cannot be made to lie. */
const ofTheSmallPlatform: readonly WeatherFault[] = [
  'limit_quota',
  'gone_listing',
  'stuck_cursor',
  'poison',
  'missing_meta',
  'wrong_mode',
  'replica_behind',
  'replica_back',
  'hook_lost',
  'hook_twice',
  'hook_late',
];

const inAll = (prefix: string, names: readonly string[]) => names.map((name) => `${prefix}:${name}`);

function named(prefix: string, names: Readonly<Record<string, Where>>, mode: Mode): readonly string[] {
  const here = Object.entries(names).filter(([, where]) => where === 'everywhere' || where === mode);
  return inAll(
    prefix,
    here.map(([name]) => name),
  );
}

export function expectedCounters(mode: Mode): readonly string[] {
  const everywhere = [
    ...named('code', codes, mode),
    ...named('act', acts, mode),
    ...named('letter', letters, mode),
    ...named('crash', steps, mode),
    ...named('death', deaths, mode),
    ...inAll('scrub', ['scrubbed', 'blocked', 'no_room', 'database_full', 'stopped']),
    ...inAll('outcome', ['done', 'waiting', 'failed', 'stopped']),
    ...inAll('trigger', ['start', 'timer', 'webhook', 'manual']),
    ...inAll('receiver', ['202', '400', '401', '413', '415', '503']),
    ...inAll('asked', ['resync', 'look']),
    'run twice',
  ];
  if (mode === 'platform')
    return [
      ...everywhere,
      ...inAll(
        'fault',
        weatherFaults.filter((fault) => !ofTheSmallPlatform.includes(fault)),
      ),
      ...inAll('platform answered', ['200', '401', '410']),
      ...inAll('platform', ['refresh', 'narrowed', 'revoked', 'secret rotated']),
    ];
  return [
    ...everywhere,
    ...inAll('fault', weatherFaults),
    ...inAll('seen', states),
    ...inAll('died while', states),
    ...inAll('platform', ['410', '410 in a listing', 'refresh', 'invalid_grant', 'limit reached']),
    'asked:accept',
    'changes judged by the quota',
    'probe',
    'catalog probe:event',
    'catalog probe:unknown round',
    'catalog probe:event before a crash',
    'catalog changes judged',
    'rounds compared as of a time',
    ...inAll('catalog', ['200', '304', '403', '404', '429', '500']),
  ];
}

export function missingFrom(counters: Counters, mode: Mode): readonly string[] {
  return expectedCounters(mode).filter((name) => counters.of(name) === 0);
}
