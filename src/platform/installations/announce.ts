import { splitScopes } from '../applications/scopes.js';
import type { Services } from '../services.js';
import type { Installation } from './model.js';

/**
 * Emits `installation.created` or `installation.revoked`. The payload has the target and the role of the user who acted,
 * never a name.
 */
export function announceInstallation(
  services: Services,
  name: 'installation.created' | 'installation.revoked',
  installation: Installation,
  role: string,
  at: number,
): void {
  services.events.emit({
    name,
    realm: installation.realm,
    at,
    companyNo: installation.target_type === 'company' ? installation.target_no : null,
    syndicateNo: installation.target_type === 'syndicate' ? installation.target_no : null,
    installationNo: installation.no,
    dataFor: () => ({
      id: installation.id,
      target: { type: installation.target_type, id: installation.target_id },
      tier: installation.tier,
      scopes: splitScopes(installation.scopes),
      status: installation.revoked_at === null ? 'active' : 'revoked',
      installed_at: new Date(installation.installed_at).toISOString(),
      revoked_at: installation.revoked_at === null ? null : new Date(installation.revoked_at).toISOString(),
      actor: { role },
    }),
  });
}
