import type { InstallationId } from '../domain/ids.js';

const prefix = 'installation/';

/** The key of an installation's token in the vault. */
export function tokenKey(installation: InstallationId | ''): string {
  return `${prefix}${installation}`;
}
