import type { FaultCode } from '../domain/fault.js';

/** The default hint for each fault, for faults without a hint of their own. */
export const nextStep: Readonly<Record<FaultCode, string>> = {
  rate_limited: 'rosterd status, which shows when it continues; fetched pages are kept',
  unreachable: 'rosterd doctor, which checks the connection to the platform',
  platform_error: 'again in a few minutes; the platform has a problem',
  contract_broken: 'rosterd doctor, which checks whether that address is the platform',
  cursor_expired: 'rosterd sync --resync',
  unauthorized: 'rosterd doctor, which names the token and the command that renews it',
  reauthorize: 'rosterd doctor, which names the sign-in and the command that renews it',
  forbidden: 'rosterd doctor, which compares the scopes of each token with the required ones',
  refused: 'rosterd doctor, which checks each source with the platform',
  filters_changed: 'rosterd sync --source NAME --resync, if the change is intended',
  lease_lost: 'rosterd status: another process follows that source',
  database_busy: 'again when the other program has finished',
  database_full: 'again after freeing disk space (df -h shows it)',
  database_unusable: 'rosterd doctor, which examines the database',
  out_of_descriptors: 'ulimit -n 1024, or LimitNOFILE=1024 in the systemd unit; then run it again',
  usage: 'the command with --help, which lists its options',
  stopped: 'the same command again',
  internal: 'again with --log-level debug, which adds a stack trace',
};
