import { checkedKey } from './entry-key.js';

/*
 * The file of an entry: `sign-in/crm` is `sign-in.crm.secret`. A capital is written as `=` and its small letter, and
 * a dot as `==`, so that no two keys share a file, not even on a disk that ignores case.
 */
const ending = '.secret';

/** Returns the file name of a checked key. */
export function fileOfEntry(key: string): string {
  const slash = key.indexOf('/');
  const name = key
    .slice(slash + 1)
    .replaceAll(/[A-Z.]/g, (letter) => (letter === '.' ? '==' : `=${letter.toLowerCase()}`));
  return `${key.slice(0, slash)}.${name}${ending}`;
}

/** Returns the key of a file, or undefined for any other file: locks, temporary files, files of other programs. */
export function entryOfFile(file: string): string | undefined {
  const parts = /^([a-z-]+)\.([a-z0-9_=-]+)\.secret$/.exec(file);
  if (parts === null) return undefined;
  const [, kind = '', name = ''] = parts;
  const key = `${kind}/${name.replaceAll(/=([a-z=])/g, (_, letter: string) =>
    letter === '=' ? '.' : letter.toUpperCase(),
  )}`;
  try {
    return checkedKey(key);
  } catch {
    return undefined;
  }
}
