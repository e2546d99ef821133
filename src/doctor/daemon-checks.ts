import type { DaemonAsked } from '../reading/daemon-address.js';
import { type Check, fail, pass, warn } from './check.js';

/** Reports what daemons on this machine say: only they know of a failure that the database could not store. */
export function daemonChecks({ daemons, problems }: DaemonAsked): readonly Check[] {
  if (problems.length > 0)
    return problems.map(({ key, severity, text, source }) =>
      (severity === 'ill' ? fail : warn)(
        `daemon.${key}`,
        source === undefined || key.endsWith(`.${source}`) ? text : `${source}: ${text}`,
        'rosterd status',
      ),
    );
  const [one] = daemons;
  return [
    one === undefined
      ? pass('daemon', 'none runs on this machine over this database')
      : pass('daemon', `process ${one.pid} runs and reports no problem`),
  ];
}
