import type { Services } from '../services.js';
import { one, run } from '../state/statements.js';

/** Who acts in a syndicate; null when an installation, a key or the platform itself does. */
export type Actor = number | null;

/** Written inside the transaction of what was done. */
export function recordActivity(
  services: Services,
  what: { readonly syndicateNo: number; readonly action: string; readonly memberNo?: number },
  actor: Actor,
  now: number,
): void {
  run(
    services.state,
    'INSERT INTO syndicate_activity (syndicate_no, action, member_no, actor_no, at) VALUES (?, ?, ?, ?, ?)',
    [what.syndicateNo, what.action, what.memberNo ?? null, actor, now],
  );
}

export const activitySince = (services: Services, syndicateNo: number, since: number): number =>
  one<{ count: number }>(
    services.state,
    'SELECT count(*) AS count FROM syndicate_activity WHERE syndicate_no = ? AND at >= ?',
    [syndicateNo, since],
  )?.count ?? 0;
