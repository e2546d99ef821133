import type { FollowRule, SourceConfig } from '../config/config.js';
import type { SourceName } from '../domain/ids.js';
import type { FollowedSource } from '../installations/ports.js';
import { followedSource } from './followed-source.js';
import type { SourceSet } from './source-set.js';

/**
 * Makes the followed sources of the set equal to the connected ones. A source with another token is replaced. Returns the
 * names that cannot be synced, because a listed source has them.
 */
export async function applyFollowed(
  sources: SourceSet,
  rules: readonly FollowRule[],
  connected: readonly FollowedSource[],
): Promise<readonly SourceName[]> {
  const listed = new Set(
    sources.listed.flatMap(({ name, followed }) => (followed === undefined ? [name] : [])),
  );
  const byRule = new Map(rules.map((rule) => [rule.rule, rule]));
  const wanted = new Map<SourceName, SourceConfig>();
  const clashes: SourceName[] = [];
  for (const row of connected) {
    const rule = byRule.get(row.rule);
    if (rule === undefined) continue;
    if (listed.has(row.source)) clashes.push(row.source);
    else wanted.set(row.source, followedSource(rule, row));
  }
  const stale = sources.all.filter(
    ({ name, followed }) =>
      followed !== undefined && wanted.get(name)?.followed?.connectedAt !== followed.connectedAt,
  );
  await sources.remove(stale.map(({ name }) => name));
  await sources.add([...wanted.values()].filter(({ name }) => sources.find(name) === undefined));
  return clashes;
}
