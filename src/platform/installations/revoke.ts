import { endGrant } from '../oauth/grants.js';
import type { Services } from '../services.js';
import { all, run } from '../state/statements.js';
import { announceInstallation } from './announce.js';
import { type Installation, installationByNo } from './model.js';

/**
 * Revokes an installation with its tokens and, for a user connection, every consent of it. Revoking it again changes
 * nothing and emits no event.
 */
export function revokeInstallation(services: Services, no: number, role: string, now: number): Installation {
  return services.state.transaction(() => {
    const { changes } = run(
      services.state,
      'UPDATE installations SET revoked_at = ? WHERE no = ? AND revoked_at IS NULL',
      [now, no],
    );
    const installation = installationByNo(services.state, no);
    if (changes === 0) return installation;
    run(
      services.state,
      'UPDATE access_tokens SET revoked_at = ? WHERE installation_no = ? AND revoked_at IS NULL',
      [now, no],
    );
    const families = all<{ family: string }>(
      services.state,
      'SELECT family FROM grants WHERE installation_no = ? AND revoked_at IS NULL',
      [no],
    );
    for (const { family } of families) endGrant(services, family, 'installation_revoked', now);
    announceInstallation(services, 'installation.revoked', installation, role, now);
    return installation;
  })();
}
