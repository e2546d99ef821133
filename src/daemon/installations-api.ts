import { getInstallation, type Installation, listInstallations, mintToken } from '../client/installations.js';
import { investmentFeed } from '../client/investments.js';
import { brokenResource } from '../client/resource.js';
import { staticToken } from '../client/tokens/static-token.js';
import type { Access } from '../config/config.js';
import { isFault } from '../domain/fault.js';
import { isIdShaped } from '../domain/ids.js';
import { parseInstant } from '../domain/instant.js';
import type { InstallationsApi, ListedInstallation } from '../installations/ports.js';
import type { PlatformConnection } from './connect-platform.js';
import { realmOfAccess } from './fingerprint.js';

/** Returns the installations of an application, as the account of a follow rule sees them. */
export function installationsApi(
  platform: Pick<PlatformConnection, 'client' | 'tokensOf'>,
  access: Access,
): InstallationsApi {
  // Nothing of this holds up the feed of a source.
  const api = platform.client.besides(platform.tokensOf(access));
  return {
    realm: () => realmOfAccess(access, platform.tokensOf(access)),
    list: async (signal) => {
      const { installations, isComplete } = await listInstallations(api, signal);
      const known = installations.filter((one) => unusableIn(one) === null).map(listed);
      return { installations: known, isComplete: isComplete && known.length === installations.length };
    },
    get: async (id, signal) => {
      try {
        const one = await getInstallation(api, id, signal);
        const unusable = unusableIn(one);
        if (unusable !== null) throw brokenResource('installation', unusable);
        return listed(one);
      } catch (error) {
        if (isFault(error, 'refused') && error.about.status === 404) return null;
        throw error;
      }
    },
    mint: async (id, scopes, signal) => {
      const { accessToken, scopes: granted } = await mintToken(api, id, scopes, signal);
      return { token: accessToken, scopes: granted };
    },
    accepts: async (token, signal) => {
      const own = platform.client.besides(staticToken(async () => token));
      try {
        await investmentFeed(own, oneRecord, 'routine').page({ kind: 'start' }, signal);
        return true;
      } catch (error) {
        if (isFault(error, 'unauthorized')) return false;
        // Any other refusal is about the request: the platform knew the token.
        if (isFault(error, 'forbidden') || isFault(error, 'refused')) return true;
        throw error;
      }
    },
  };
}

const oneRecord = { company: null, filters: {}, perPage: 1 };

/**
 * Returns the field that keeps an installation from being followed: a status that is neither active nor revoked, from which
 * nothing can be concluded, or the id of its company or syndicate. Null for a usable one.
 */
function unusableIn({ target, status }: Installation): string | null {
  if (status !== 'active' && status !== 'revoked') return 'status';
  const hasSource = target.type === 'company' || target.type === 'syndicate';
  return hasSource && !isIdShaped(target.id) ? 'target' : null;
}

function listed({ id, target, status, revokedAt }: Installation): ListedInstallation {
  return {
    id,
    targetType: target.type,
    target: target.id,
    targetName: target.name,
    isActive: status === 'active',
    revokedAt: parseInstant(revokedAt) ?? null,
  };
}
