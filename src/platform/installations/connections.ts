import { endGrant, type Grant, grantOf } from '../oauth/grants.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import { announceInstallation } from './announce.js';
import { installationByNo } from './model.js';
import { revokeInstallation } from './revoke.js';

/**
 * Records that a user connected an application: an installation on that user, one per application and realm. A further
 * consent is added to the same installation and may widen its scopes.
 */
export function connectPerson(services: Services, grant: Grant, now: number): void {
  const existing = one<{ no: number; scopes: string }>(
    services.state,
    `SELECT no, scopes FROM installations
     WHERE application_no = ? AND realm = ? AND user_no = ? AND revoked_at IS NULL`,
    [grant.application_no, grant.realm, grant.user_no],
  );
  const no = existing?.no ?? insertConnection(services, grant, now);
  if (existing === undefined) {
    announceInstallation(services, 'installation.created', installationByNo(services.state, no), 'user', now);
  } else {
    const scopes = new Set([...existing.scopes.split(' '), ...grant.scopes.split(' ')]);
    run(services.state, 'UPDATE installations SET scopes = ? WHERE no = ?', [[...scopes].join(' '), no]);
  }
  run(services.state, 'UPDATE grants SET installation_no = ? WHERE family = ?', [no, grant.family]);
}

function insertConnection(services: Services, grant: Grant, now: number): number {
  return run(
    services.state,
    `INSERT INTO installations (id, application_no, realm, user_no, tier, scopes, installed_by_no, installed_at)
     VALUES (?, ?, ?, ?, 'user', ?, ?, ?)`,
    [
      newId(services.random, 'inst_'),
      grant.application_no,
      grant.realm,
      grant.user_no,
      grant.scopes,
      grant.user_no,
      now,
    ],
  ).no;
}

/** Revokes one consent. If it was the last one of a connection, the connection is revoked too. */
export function endFamily(services: Services, family: string, because: string, now: number): void {
  services.state.transaction(() => {
    const ended = endGrant(services, family, because, now);
    const { installation_no } = grantOf(services, family);
    if (!ended || installation_no === null) return;
    const left = one<{ family: string }>(
      services.state,
      'SELECT family FROM grants WHERE installation_no = ? AND revoked_at IS NULL LIMIT 1',
      [installation_no],
    );
    if (left === undefined) revokeInstallation(services, installation_no, 'user', now);
  })();
}
