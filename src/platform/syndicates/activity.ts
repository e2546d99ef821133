import type { Services } from '../services.js';
import { one, run } from '../state/statements.js';

/** The acting user; null for an installation, a key or the platform. */
export type Actor = number | null;

/** Records an activity. Call it inside the transaction of the action. */
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
