import { Problem } from '../http/problem.js';
import { endGrant } from '../oauth/grants.js';
import type { Services } from '../services.js';
import { all, one, run } from '../state/statements.js';
import { type Application, applicationByNo } from './model.js';

/*
 * The status of an application on the platform. Its organization may request a review, disable it or delete it.
 * Only the platform decides reviews, approves access to identity and suspends; these have no route in the API.
 */

export type ReviewState = 'none' | 'pending' | 'approved' | 'declined';

export function reviewOf(services: Services, app: Application): ReviewState {
  if (app.approved_at !== null) return 'approved';
  const row = one<{ decided_at: number | null }>(
    services.state,
    'SELECT decided_at FROM application_reviews WHERE application_no = ?',
    [app.no],
  );
  if (row === undefined) return 'none';
  return row.decided_at === null ? 'pending' : 'declined';
}

export function requestReview(services: Services, app: Application, now: number): void {
  if (app.approved_at !== null) throw new Problem(409, 'conflict', 'The application is already approved.');
  if (app.status !== 'active') throw new Problem(409, 'conflict', `The application is ${app.status}.`);
  run(
    services.state,
    `INSERT INTO application_reviews (application_no, requested_at) VALUES (?, ?)
     ON CONFLICT (application_no) DO UPDATE SET requested_at = excluded.requested_at, decided_at = NULL
     WHERE decided_at IS NOT NULL`,
    [app.no, now],
  );
}

/** That an application was approved stays in its review, also after the platform took that back. */
export function decideReview(services: Services, app: Application, approved: boolean, now: number): void {
  services.state.transaction(() => {
    run(
      services.state,
      `INSERT INTO application_reviews (application_no, requested_at, decided_at, approved) VALUES (?, ?, ?, ?)
       ON CONFLICT (application_no) DO UPDATE SET decided_at = excluded.decided_at,
         approved = max(coalesce(approved, 0), excluded.approved)`,
      [app.no, now, now, approved || app.approved_at !== null ? 1 : 0],
    );
    run(services.state, 'UPDATE applications SET approved_at = ? WHERE no = ?', [
      approved ? now : null,
      app.no,
    ]);
  })();
}

/** Does not widen existing installations: their access to identity was decided when they were created. */
export function approveIdentity(services: Services, app: Application, approved: boolean): void {
  run(services.state, 'UPDATE applications SET pii_approved = ? WHERE no = ?', [approved ? 1 : 0, app.no]);
}

/** While suspended, an application gets no new tokens. Existing tokens keep working. */
export function suspend(services: Services, app: Application, suspended: boolean): void {
  if (app.status === 'disabled' || app.status === 'deleted') {
    throw new Problem(409, 'conflict', `The application is ${app.status}.`);
  }
  setStatus(services, app, suspended ? 'suspended' : 'active');
}

/** Disables the application permanently and revokes every token. Installations stay listed but cannot be used. */
export function disable(services: Services, app: Application, now: number): Application {
  return services.state.transaction(() => {
    setStatus(services, app, 'disabled');
    const grants = all<{ family: string }>(
      services.state,
      'SELECT family FROM grants WHERE application_no = ? AND revoked_at IS NULL',
      [app.no],
    );
    for (const { family } of grants) endGrant(services, family, 'application_disabled', now);
    run(
      services.state,
      'UPDATE access_tokens SET revoked_at = ? WHERE application_no = ? AND revoked_at IS NULL',
      [now, app.no],
    );
    return applicationByNo(services.state, app.no);
  })();
}

/** Deletes an application. Throws a 409 if it was ever approved, installed or given a live token. */
export function remove(services: Services, app: Application, now: number): void {
  const traces = one<{ live: number; installs: number; approved: number }>(
    services.state,
    `SELECT EXISTS (SELECT 1 FROM access_tokens WHERE application_no = $app AND realm = 'live') AS live,
       EXISTS (SELECT 1 FROM installations WHERE application_no = $app) AS installs,
       EXISTS (SELECT 1 FROM application_reviews WHERE application_no = $app AND approved = 1) AS approved`,
    { app: app.no },
  );
  if (app.approved_at !== null || traces?.live || traces?.installs || traces?.approved) {
    throw new Problem(
      409,
      'conflict',
      'An application that was approved, installed or given a live token cannot be deleted.',
      { remediation: `Disable it instead: POST /developer/applications/${app.id}/disable.` },
    );
  }
  services.state.transaction(() => {
    disable(services, app, now);
    setStatus(services, app, 'deleted');
    run(services.state, 'UPDATE clients SET archived_at = ?, secret_plain = NULL WHERE application_no = ?', [
      now,
      app.no,
    ]);
  })();
}

function setStatus(services: Services, app: Application, status: Application['status']): void {
  run(services.state, 'UPDATE applications SET status = ? WHERE no = ?', [status, app.no]);
}
