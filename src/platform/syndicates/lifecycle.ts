import { moveRound } from '../catalog/round-lifecycle.js';
import { revokeInstallation } from '../installations/revoke.js';
import type { Services } from '../services.js';
import { all, one, run } from '../state/statements.js';
import { type Actor, recordActivity } from './activity.js';
import { liveStatuses, type Syndicate } from './model.js';

/** Returns why the syndicate cannot be published, as text for the reviewer, or null if it can. */
export function publishRefusal(syndicate: Syndicate): string | null {
  if (syndicate.published === 1) return `${syndicate.name} is published already.`;
  if (syndicate.description === null) return `${syndicate.name} needs a description before it is published.`;
  return null;
}

/** Publishes the syndicate. The caller must have checked `publishRefusal` in the same transaction. */
export function publishSyndicate(services: Services, syndicateNo: number, actor: Actor, now: number): void {
  run(services.state, 'UPDATE syndicates SET published = 1, launched = 1, updated_at = ? WHERE no = ?', [
    now,
    syndicateNo,
  ]);
  recordActivity(services, { syndicateNo, action: 'syndicate.published' }, actor, now);
}

/** Returns why a draft cannot be deleted (investments, open deals, members other than managers), or null if it can. */
export function deleteDraftRefusal(services: Services, syndicate: Syndicate): string | null {
  if (syndicate.published === 1) return `${syndicate.name} is published: only a draft can be deleted.`;
  const { state } = services;
  const deal = `SELECT 1 FROM offerings WHERE syndicate_no = ? AND status IN ${liveStatuses} LIMIT 1`;
  if (one(state, deal, [syndicate.no]) !== undefined) return `${syndicate.name} has deals that take money.`;
  const money = 'SELECT 1 FROM syndicate_investments WHERE syndicate_no = ? LIMIT 1';
  if (one(state, money, [syndicate.no]) !== undefined) return `${syndicate.name} has investments.`;
  return null;
}

/** Deletes a draft: revokes its installations, cancels its open links and removes its managers. */
export function deleteDraft(services: Services, syndicateNo: number, actor: Actor, now: number): void {
  const { state } = services;
  state.transaction(() => {
    recordActivity(services, { syndicateNo, action: 'syndicate.draft_deleted' }, actor, now);
    // Cancel the deals first, while the installations can still receive the events.
    const prepared = `SELECT no FROM offerings WHERE syndicate_no = ? AND status = 'upcoming' ORDER BY no`;
    for (const { no } of all<{ no: number }>(state, prepared, [syndicateNo])) {
      moveRound(services, no, 'canceled', now);
    }
    const installed =
      'SELECT no FROM installations WHERE syndicate_no = ? AND revoked_at IS NULL ORDER BY no';
    for (const { no } of all<{ no: number }>(state, installed, [syndicateNo])) {
      revokeInstallation(services, no, 'full_access', now);
    }
    run(
      state,
      `UPDATE join_sessions SET status = 'canceled' WHERE syndicate_no = ? AND status IN ('pending', 'in_progress')`,
      [syndicateNo],
    );
    run(state, 'UPDATE access_tokens SET revoked_at = ? WHERE syndicate_no = ? AND revoked_at IS NULL', [
      now,
      syndicateNo,
    ]);
    run(state, 'UPDATE syndicate_members SET invite_token = NULL WHERE syndicate_no = ?', [syndicateNo]);
    run(state, 'DELETE FROM syndicate_managers WHERE syndicate_no = ?', [syndicateNo]);
    run(state, 'UPDATE syndicates SET deleted_at = ? WHERE no = ?', [now, syndicateNo]);
  })();
}
