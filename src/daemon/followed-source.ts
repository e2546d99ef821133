import type { FollowRule, SourceConfig } from '../config/config.js';
import { parseId } from '../domain/ids.js';
import type { FollowedSource } from '../installations/ports.js';
import { tokenKey } from '../installations/token-key.js';
import { tokenUsers } from '../installations/token-users.js';

type Named = Pick<FollowedSource, 'source' | 'rule' | 'realm' | 'target' | 'installation' | 'connectedAt'>;

/** Returns the vault entry with the token of a followed source. */
export function tokenEntry({ installation }: Pick<FollowedSource, 'installation'>): string {
  return tokenKey(installation);
}

/** Whether a source is still followed with the token of this one. */
export function isTokenUsed(
  { installation }: Pick<FollowedSource, 'installation'>,
  rows: readonly FollowedSource[],
): boolean {
  return tokenUsers(rows).has(installation);
}

/** Returns a followed source as one that the configuration could have listed. */
export function followedSource(
  { identity }: Pick<FollowRule, 'identity'>,
  { source, rule, realm, target, installation, connectedAt }: Named,
): SourceConfig {
  const company = parseId('company', target) ?? null;
  return {
    name: source,
    access: { kind: 'stored', key: tokenEntry({ installation }) },
    company,
    installation,
    filters: company === null ? {} : { companyId: company },
    followed: { rule, realm, identity, connectedAt },
  };
}
