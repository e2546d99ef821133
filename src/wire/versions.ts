import { lookup } from '../domain/lookup.js';

/** API versions by date, oldest first. None has been retired. */
export const versions = ['2026-10-01', '2026-10-15'] as const;
export type Version = (typeof versions)[number];

export const latestVersion: Version = '2026-10-15';

/** Returns the latest version released by a time. A time before the first release means an unset clock: the latest. */
export function releasedAt(millis: number): Version {
  const date = new Date(millis).toISOString().slice(0, 10);
  return versions.findLast((version) => version <= date) ?? latestVersion;
}

/** The error for an unknown or retired version, on every path. No other error uses this combination. */
export const versionRefusal = { status: 400, type: 'invalid_request' } as const;

/** Alias from the launch, used by all published SDKs, of the first released version. */
export const versionAliases = lookup<Version>({ '2025-01-15': '2026-10-01' });
