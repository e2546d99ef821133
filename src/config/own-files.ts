import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { isSameFile, statOf } from '../runtime/same-file.js';
import type { Access, Config } from './config.js';
import { secretsOf } from './unreadable-secrets.js';

interface OwnFile {
  readonly file: string;
  readonly what: string;
}

/**
 * Returns what the file at `path` is to rosterd: its configuration, or a file that the configuration names. Null for any
 * other file. Without a configuration that can be read, only its own file is known.
 */
export function ownUseOf(path: string, config: Config | null, configFile: string): string | null {
  const isSame = sameAs(path);
  if (isSame(configFile)) return 'the configuration';
  if (config === null) return null;
  const own = ownFilesOf(config).find(({ file }) => isSame(file));
  if (own !== undefined) return own.what;
  const isInVault = statOf(path) !== null && isBelow(config.vault.folder, path);
  return isInVault ? 'in the vault, the folder of stored secrets' : null;
}

function ownFilesOf(config: Config): readonly OwnFile[] {
  const { platform, receiver, forget, sources, follows } = config;
  const accesses = [platform.management, ...[...sources, ...follows].map(({ access }) => access)];
  return [
    { file: forget.ledger, what: 'the ledger of forgotten people' },
    ...(platform.caFile === null ? [] : [{ file: platform.caFile, what: 'the file of platform.ca' }]),
    ...(receiver?.endpoint == null
      ? []
      : [{ file: receiver.endpoint.file, what: 'the state of the webhook endpoint' }]),
    ...accesses.flatMap((access) => signInOf(access)),
    ...secretsOf(config).flatMap(({ file, name }) =>
      file === null ? [] : [{ file, what: `the secret of ${name}` }],
    ),
  ];
}

function signInOf(access: Access | null): readonly OwnFile[] {
  if (access?.kind !== 'credentials' || !('file' in access.at)) return [];
  return [{ file: access.at.file, what: 'a stored sign-in' }];
}

/** Compares by content of the disk, links followed; by name where one of them does not exist. */
const sameAs = (path: string) => (other: string) => isSameFile(other, path) || realOf(other) === realOf(path);

function isBelow(folder: string, path: string): boolean {
  const way = relative(realOf(folder), realOf(path));
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
}

/** The path without links in its folders; the file itself may not exist. */
function realOf(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
