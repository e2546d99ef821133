import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A value that must not appear outside its place. Reports show `what`, never `value`. */
export interface Canary {
  readonly what: string;
  readonly value: string;
}

export interface Leak {
  readonly file: string;
  readonly what: string;
}

/** Returns the forms in which a value may appear in bytes: plain, in JSON, in a URL and encoded. */
function spellings(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  const escaped = value.replaceAll(/[^\x20-\x7e]/g, (letter) =>
    [...Array(letter.length).keys()]
      .map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
  return [
    ...new Set([
      value,
      JSON.stringify(value).slice(1, -1),
      escaped,
      encodeURIComponent(value),
      bytes.toString('hex'),
      // Without the last characters, which depend on what follows.
      bytes.toString('base64').replace(/.{0,2}=*$/, ''),
      bytes.toString('base64url').replace(/.{0,2}$/, ''),
    ]),
  ];
}

/** Reads every byte of every file below the folder; `mayHold` says which files may contain which canary. */
export function sweep(
  folder: string,
  canaries: readonly Canary[],
  mayHold: (file: string, canary: Canary) => boolean,
): Leak[] {
  const wanted = canaries.map((canary) => ({
    canary,
    spelled: spellings(canary.value).map((text) => Buffer.from(text, 'utf8')),
  }));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const file = relative(folder, path);
      const bytes = readFileSync(path);
      return wanted
        .filter(
          ({ canary, spelled }) => !mayHold(file, canary) && spelled.some((text) => bytes.includes(text)),
        )
        .map(({ canary }) => ({ file, what: canary.what }));
    });
}
