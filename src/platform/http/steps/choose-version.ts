import {
  latestVersion,
  type Version,
  versionAliases,
  versionRefusal,
  versions,
} from '../../../wire/versions.js';
import type { Exchange } from '../exchange.js';
import { Problem } from '../problem.js';

/** Returns the version of the header, which takes precedence, or null without one. Throws a 400 for an unknown version. */
export function versionFromHeader(value: string | undefined): Version | null {
  if (value === undefined) return null;
  const version = versionAliases[value] ?? versions.find((known) => known === value);
  if (version !== undefined) return version;
  const valid = [...versions, ...Object.keys(versionAliases)].sort();
  throw new Problem(
    versionRefusal.status,
    versionRefusal.type,
    `Unknown version ${JSON.stringify(value.slice(0, 40))}. Valid versions: ${valid.join(', ')}.`,
    {
      details: { valid_versions: valid },
    },
  );
}

/** Without the header, uses the version the application is pinned to, or the latest version without an application. */
export function versionFromPin(exchange: Exchange): void {
  const asked = exchange.headers[exchange.services.options.headers.version.toLowerCase()];
  if (asked === undefined) exchange.version = exchange.caller?.app.pinned_version ?? latestVersion;
}
