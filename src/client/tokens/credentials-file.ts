import { open } from 'node:fs/promises';
import { Fault } from '../../domain/fault.js';
import { type Instant, parseInstant } from '../../domain/instant.js';
import { shellWord } from '../../domain/shell-word.js';
import { withoutByteOrderMark } from '../../domain/text.js';
import { refuseNewerFormat } from '../../runtime/private-file.js';
import { type Disk, replaceFile } from '../../runtime/replace-file.js';
import { unwritable } from '../../runtime/unwritable.js';
import { signInHint } from './sign-in-hint.js';

/** The tokens of a signed-in person and the client they were issued to. They are stored only here. */
export interface Credentials {
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  readonly accessToken: string;
  /** Null when the platform issued none: the access token is then used until it is rejected. */
  readonly refreshToken: string | null;
  /**
   * The previous refresh token. It is the last resort when a late or duplicated refresh made the platform void the
   * new pair.
   */
  readonly previousRefreshToken: string | null;
  /** Null when the access token does not expire. */
  readonly expiresAt: Instant | null;
  readonly scope: string;
}

const othersMask = 0o077;

export async function readCredentials(path: string): Promise<Credentials> {
  return parseCredentials(`the credentials file ${path}`, await readPrivate(path));
}

/**
 * Writes the credentials durably. No caller may use the tokens before this returns; from then on they survive a power
 * cut.
 */
export async function writeCredentials(path: string, credentials: Credentials, disk?: Disk): Promise<void> {
  try {
    await replaceFile(path, credentialsText(credentials), disk);
  } catch (error) {
    throw unwritable(`the credentials file ${path}`, error);
  }
}

export const credentialsText = (credentials: Credentials): string =>
  `${JSON.stringify(credentials, null, 2)}\n`;

/** Reads mode and content from the same open file, so the file cannot be replaced between the check and the read. */
async function readPrivate(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // No file means that there was no sign-in yet. A file that exists but cannot be opened is a permission problem.
    if (error.code === 'ENOENT')
      throw new Fault('reauthorize', `nobody is signed in: there is no credentials file ${path}`, {
        hint: signInHint,
        cause: error,
      });
    throw new Fault('usage', `the credentials file ${path} cannot be opened (${error.code ?? 'unknown'})`, {
      hint: 'give the user that runs rosterd read access',
      cause: error,
    });
  });
  try {
    const { mode } = await file.stat();
    if ((mode & othersMask) !== 0) {
      const shown = (mode & 0o777).toString(8);
      throw new Fault('usage', `the credentials file ${path} is open to others (mode ${shown})`, {
        hint: `chmod 600 ${shellWord(path)}`,
      });
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/**
 * Parses stored credentials. `place` names them in the error: `reauthorize`, or `usage` when a later version wrote them.
 */
export function parseCredentials(place: string, text: string): Credentials {
  const broken = (field: string) =>
    new Fault('reauthorize', `${place} is not usable: ${field}`, {
      hint: signInHint,
    });
  let value: unknown;
  try {
    value = JSON.parse(withoutByteOrderMark(text));
  } catch {
    throw broken('it is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw broken('it is not an object');
  const fields = value as Readonly<Record<string, unknown>>;
  refuseNewerFormat(place, fields);
  const required = (name: string) => {
    const field = fields[name];
    if (typeof field !== 'string' || field === '') throw broken(`"${name}" is missing`);
    return field;
  };
  const optional = (name: string) => (fields[name] == null ? null : required(name));
  const expiresAt = optional('expiresAt');
  if (expiresAt !== null && parseInstant(expiresAt) === undefined) throw broken('"expiresAt" is not a time');
  return {
    clientId: required('clientId'),
    clientSecret: optional('clientSecret'),
    accessToken: required('accessToken'),
    refreshToken: optional('refreshToken'),
    previousRefreshToken: optional('previousRefreshToken'),
    expiresAt: parseInstant(expiresAt) ?? null,
    scope: typeof fields.scope === 'string' ? fields.scope : '',
  };
}
