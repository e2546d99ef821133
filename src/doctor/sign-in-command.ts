import type { SourceConfig } from '../config/config.js';

/** Returns the command that renews the token or the sign-in of a source. */
export function signInCommand({ name, access }: Pick<SourceConfig, 'name' | 'access'>): string {
  return access.kind === 'credentials' ? `rosterd connect --source ${name}` : 'rosterd connect';
}
