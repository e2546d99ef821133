import { accessSync, constants } from 'node:fs';
import type { Config } from './config.js';

/**
 * Returns a message when the file of `platform.ca` cannot be read now, or null. A warning, as for a secret; without the
 * file, no command reaches the platform.
 */
export function unreadableAuthority({ platform: { caFile } }: Config): string | null {
  if (caFile === null) return null;
  try {
    accessSync(caFile, constants.R_OK);
    return null;
  } catch (error) {
    return `platform.ca: ${caFile} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`;
  }
}
