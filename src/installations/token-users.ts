import type { InstallationId } from '../domain/ids.js';
import { isOpen } from './plan-following.js';
import type { FollowedSource } from './ports.js';

/**
 * Returns the number of followed sources that use the token of each installation. An installation has one token and may have
 * several sources: after a rule was renamed, one that ended and the one of the new rule.
 */
export function tokenUsers(rows: readonly FollowedSource[]): ReadonlyMap<InstallationId, number> {
  const users = new Map<InstallationId, number>();
  for (const row of rows)
    if (isOpen(row)) users.set(row.installation, (users.get(row.installation) ?? 0) + 1);
  return users;
}
