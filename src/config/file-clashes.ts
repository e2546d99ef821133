import { resolve } from 'node:path';
import { fileBehind, fileIdentity } from '../runtime/file-behind.js';
import type { Clash } from './clash.js';
import { isPostgres } from './database.js';
import { type Path, pathText } from './path.js';
import type { Settings } from './settings.js';

interface FileUse {
  readonly file: string;
  /** The setting; empty for the configuration itself. */
  readonly path: Path;
  /** Whether rosterd writes the file. Other files are read and may be named twice. */
  readonly isWritten: boolean;
  /** Whether it is written where it is, also through a link. The others are replaced, which replaces the link. */
  readonly isInPlace: boolean;
  /** The application of a stored sign-in, which all its sources may share. */
  readonly clientId: string | null;
}

/**
 * A file that rosterd writes has one use: it would overwrite a secret, the mirror, or the configuration itself, that has the same
 * name. `folderOf` returns the folder that a relative path in a setting starts from. `configFile` is null without a file.
 */
export function fileClashes(
  settings: Settings,
  folderOf: (path: Path) => string,
  configFile: string | null,
): readonly Clash[] {
  const before = new Map<string, FileUse[]>();
  const identities = new Map<string, string>();
  // A thousand sources may share one file, and a file system may be slow.
  const identityOf = (file: string): string => {
    const known = identities.get(file) ?? fileIdentity(file);
    identities.set(file, known);
    return known;
  };
  return [...configuration(configFile), ...plainFiles(settings), ...namedFiles(settings, [])].flatMap(
    (use) => {
      const named = use.path.length === 0 ? use.file : resolve(folderOf(use.path), use.file);
      const file = identityOf(use.isInPlace ? fileBehind(named) : named);
      const earlier = before.get(file) ?? [];
      // A thousand sources may share one sign-in or one secret: the first of them is enough.
      if (!earlier.some((other) => isAlike(other, use))) before.set(file, [...earlier, use]);
      const other = earlier.find((one) => overwrites(one, use));
      return other === undefined
        ? []
        : [
            {
              path: use.path,
              message: `is ${use.file}, ${useText(other)}; expected another file`,
            },
          ];
    },
  );
}

const configuration = (file: string | null): readonly FileUse[] =>
  file === null ? [] : [{ file, path: [], isWritten: false, isInPlace: true, clientId: null }];

const useText = ({ path }: FileUse): string =>
  path.length === 0 ? 'the configuration itself' : `the file of ${pathText(path)}`;

const isAlike = (one: FileUse, other: FileUse): boolean =>
  one.isWritten === other.isWritten && one.clientId === other.clientId;

function overwrites(one: FileUse, other: FileUse): boolean {
  if (one.clientId !== null && one.clientId === other.clientId) return false;
  return one.isWritten || other.isWritten;
}

function plainFiles({ database, forget }: Settings): readonly FileUse[] {
  const mirror = isPostgres(database) ? [] : [{ file: database.replace(/^sqlite:/, ''), path: ['database'] }];
  return [...mirror, { file: forget.ledger, path: ['forget', 'ledger'] }].map((use) => ({
    ...use,
    isWritten: true,
    isInPlace: true,
    clientId: null,
  }));
}

/** Returns the files of `{"file": …}` anywhere in a value: of secrets, sign-ins and the managed endpoint. */
function namedFiles(value: unknown, path: Path): readonly FileUse[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    namedFiles(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  const { file, clientId, publicUrl } = value as Readonly<Record<string, unknown>>;
  if (typeof file !== 'string') return inner;
  const isSignIn = typeof clientId === 'string';
  return [
    {
      file,
      path: [...path, 'file'],
      isWritten: isSignIn || publicUrl !== undefined,
      isInPlace: false,
      clientId: isSignIn ? clientId : null,
    },
    ...inner,
  ];
}
