import { lookup } from '../domain/lookup.js';

/** Dated versions of the API, oldest first. None has been retired. */
export const versions = ['2026-10-01', '2026-10-15'] as const;
export type Version = (typeof versions)[number];

export const latestVersion: Version = '2026-10-15';

/** The latest version of a moment: each is released on its date. A clock before the first is one nobody set. */
export function releasedAt(millis: number): Version {
  const date = new Date(millis).toISOString().slice(0, 10);
  return versions.findLast((version) => version <= date) ?? latestVersion;
}

/** How an unknown or retired version is refused, whatever was asked; no resource answers this about anything else. */
export const versionRefusal = { status: 400, type: 'invalid_request' } as const;

/** Accepted during launch and spelled by every published SDK; means the first released version. */
export const versionAliases = lookup<Version>({ '2025-01-15': '2026-10-01' });
