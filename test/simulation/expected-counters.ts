import type { Counters } from './counters.js';
import { weatherFaults } from './weather.js';

/** Everything a large batch must have met at least once. */
const names = (prefix: string, list: readonly string[]) => list.map((name) => `${prefix}:${name}`);

export const expectedCounters: readonly string[] = [
  ...names('fault', weatherFaults),
  ...names('act', [
    'publish',
    'restore',
    'crash',
    'crash_at',
    'stop',
    'clock_jump',
    'disk_full',
    'locked',
    'expire',
    'access_lost',
    'revoke',
    'narrow',
    'rotate_hook',
    'rival',
    'resync',
    'other_company',
    'letter',
    'analyst',
  ]),
  ...names('crash', ['begin', 'statement', 'commit', 'torn', 'committed']),
  ...names('death', ['kill', 'kill_without_shm', 'power', 'torn']),
  ...names('outcome', ['done', 'waiting', 'held', 'failed', 'stopped']),
  ...names('trigger', ['start', 'timer', 'webhook', 'manual']),
  ...names('seen', ['empty', 'listing', 'relisting', 'held', 'sweeping', 'following', 'halted']),
  ...names('code', [
    'rate_limited',
    'unreachable',
    'platform_error',
    'contract_broken',
    'cursor_expired',
    'unauthorized',
    'reauthorize',
    'forbidden',
    'refused',
    'filters_changed',
    'too_many_deletions',
    'lease_lost',
    'database_busy',
    'database_full',
    'stopped',
  ]),
  ...names('receiver', ['202', '400', '401', '413', '415', '503']),
  ...names('letter', [
    'forged',
    'unsigned',
    'stale',
    'malformed',
    'wrong_type',
    'too_large',
    'altered',
    'test',
    'unknown_event',
    'unknown_installation',
  ]),
  'asked:resync',
  'asked:accept',
  'asked:look',
  'platform:410',
  'platform:refresh',
  'platform:invalid_grant',
  'platform:limit reached',
  'probe',
  'run twice',
];

export function missingFrom(counters: Counters): readonly string[] {
  return expectedCounters.filter((name) => counters.of(name) === 0);
}
