import { createHash } from 'node:crypto';
import type { Access, Config, SourceConfig } from '../config/config.js';
import { canonicalJson } from '../domain/json.js';

/**
 * What a cursor is bound to. The cursor itself says nothing about filters, so a changed one would silently fork
 * the data; the realm and the account keep live rows out of a test mirror. Tokens come and go and are not in it.
 */
export function fingerprintOf(
  config: Config,
  source: SourceConfig,
  realm: 'test' | 'live' | 'unknown',
): string {
  const account =
    source.installation ?? (source.access.kind === 'credentials' ? source.access.clientId : null);
  const bound = { platform: config.platform.baseUrl, realm, account, filters: { ...source.filters } };
  return createHash('sha256').update(canonicalJson(bound)).digest('hex');
}

/** A token's prefix tells its realm; a client's key does as well, and needs no file to exist yet. */
export async function realmOfAccess(access: Access): Promise<'test' | 'live' | 'unknown'> {
  const credential = access.kind === 'token' ? await access.token.reveal() : access.clientId;
  const realm = /^(?:at|pk)_(test|live)_/.exec(credential)?.[1];
  return realm === 'test' || realm === 'live' ? realm : 'unknown';
}
