import { createHash } from 'node:crypto';
import type { TokenProvider } from '../client/tokens/token-provider.js';
import type { Access, Config, SourceConfig } from '../config/config.js';
import { canonicalJson } from '../domain/json.js';
import type { SourceIdentity } from '../sync/ports.js';

type Realm = 'test' | 'live' | 'unknown';

/**
 * Returns the fingerprints of a source whose token is of this realm. A token that does not show its realm proves no
 * change: the platform refuses a placeholder or a damaged token, and the source waits for the right one. So it fits a
 * source of any realm, and a source that was stored with such a token is of the realm of the next one.
 */
export function fingerprintsOf(
  config: Config,
  source: SourceConfig,
  realm: Realm,
): Pick<SourceIdentity, 'fingerprint' | 'withoutRealm' | 'withRealm'> {
  const of = (one: Realm) => fingerprintOf(config, source, one);
  return realm === 'unknown'
    ? { fingerprint: of(realm), withRealm: [of('test'), of('live')] }
    : { fingerprint: of(realm), withoutRealm: of('unknown') };
}

/**
 * Returns a digest of what a cursor is bound to. A cursor does not carry the filters it was issued for, so changed
 * filters would silently mix two data sets; realm and account keep live rows out of a test mirror. Tokens are left out
 * because they rotate.
 */
function fingerprintOf(config: Config, source: SourceConfig, realm: Realm): string {
  const account =
    source.installation ?? (source.access.kind === 'credentials' ? source.access.clientId : null);
  const bound = { platform: config.platform.baseUrl, realm, account, filters: { ...source.filters } };
  return createHash('sha256').update(canonicalJson(bound)).digest('hex');
}

/**
 * Returns the realm from the prefix of the token, or of the client id, which needs no sign-in to exist yet. `tokens` is
 * asked for a token in the vault only.
 */
export async function realmOfAccess(access: Access, tokens: Pick<TokenProvider, 'current'>): Promise<Realm> {
  const credential = await credentialOf(access, tokens);
  const realm = /^(?:at|pk)_(test|live)_/.exec(credential)?.[1];
  return realm === 'test' || realm === 'live' ? realm : 'unknown';
}

async function credentialOf(access: Access, tokens: Pick<TokenProvider, 'current'>): Promise<string> {
  if (access.kind === 'token') return await access.token.reveal();
  return access.kind === 'stored' ? await tokens.current(never) : access.clientId;
}

const never = new AbortController().signal;
