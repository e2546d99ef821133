import type { FaultCode } from '../domain/fault.js';

/** What to type next when whoever saw the fault had nothing better to say. */
export const nextStep: Readonly<Record<FaultCode, string>> = {
  rate_limited: 'rosterd status, which says when it goes on; what was fetched is kept',
  unreachable: 'rosterd doctor, which looks at the way to the platform',
  platform_error: 'the same again in a few minutes; the fault is on the platform',
  contract_broken: 'rosterd doctor, which asks whether that address is the platform',
  cursor_expired: 'rosterd sync --resync',
  unauthorized: 'rosterd doctor, which names the token and the command that renews it',
  reauthorize: 'rosterd doctor, which names the sign-in and the command that renews it',
  forbidden: 'rosterd doctor, which compares the scopes of each token with what is needed',
  refused: 'rosterd doctor, which asks the platform about each source',
  filters_changed: 'rosterd sync --resync, if the new configuration is meant',
  too_many_deletions: 'rosterd sync --accept-deletions, if that is what happened on the platform',
  lease_lost: 'rosterd status: another process follows that source',
  database_busy: 'the same again when the other program is done',
  database_full: 'the same again when there is room on the disk: df -h',
  database_unusable: 'rosterd doctor, which examines the database',
  out_of_descriptors: 'ulimit -n 1024, or LimitNOFILE=1024 in the systemd unit; then the same again',
  usage: 'the same with --help, which lists what can be given',
  stopped: 'the same again; what was finished is kept',
  internal: 'the same with --log-level debug, which adds where it happened',
};
