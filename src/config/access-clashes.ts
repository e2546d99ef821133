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
  if (access.token !== undefined && access.credentials !== undefined)
    return [
      { path: [...path, 'credentials'], message: 'cannot be combined with token; expected one of the two' },
    ];
  return access.credentials === undefined ? [] : placeClashes(access.credentials, [...path, 'credentials']);
}

/** Requires either a file or the name of a vault entry. */
function placeClashes(
  { file, vault }: NonNullable<AccessSettings['credentials']>,
  path: Path,
): readonly Clash[] {
  if (file === undefined && vault === undefined)
    return [
      {
        path: [...path, 'file'],
        message: 'is missing; expected file or vault',
        hint: 'for example "file": "credentials/crm.json"; or "vault": "crm", which every host of a fleet can use',
      },
    ];
  if (file === undefined || vault === undefined) return [];
  return [{ path: [...path, 'vault'], message: 'cannot be combined with file; expected one of the two' }];
}
