import type { Clash } from './clash.js';
import type { Path } from './path.js';
import type { AccessSettings } from './source-entries.js';

/** Requires either a token or credentials. */
export function accessClashes(access: AccessSettings, path: Path, variable: string): readonly Clash[] {
  if (access.token === undefined && access.credentials === undefined) {
    return [
      {
        path: [...path, 'token'],
        message: 'is missing; expected token or credentials',
        hint: `for example "token": {"env": "${variable}"}`,
      },
    ];
  }
  if (access.token === undefined || access.credentials === undefined) return [];
  return [
    { path: [...path, 'credentials'], message: 'cannot be combined with token; expected one of the two' },
  ];
}
