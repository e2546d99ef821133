import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';

/**
 * Throw-away certificates: two self-signed, for 127.0.0.1 and for another host, and three issued by an authority for
 * 127.0.0.1: one expired, one not valid yet, one valid.
 */
export const pem = (name: string): string =>
  readFileSync(join(packageRoot, 'test', 'client', 'fixtures', 'tls', `${name}.pem`), 'utf8');
