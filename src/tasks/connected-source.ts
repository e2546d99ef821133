import { parseSourceName } from '../domain/ids.js';
import { slugOf } from '../domain/slug.js';

/** The options of a source in the configuration file that connecting reads or writes; other options are kept. */
export interface SourceEntry {
  readonly name: string;
  readonly token?: unknown;
  readonly credentials?: unknown;
  readonly company?: string;
  readonly installation?: string;
}

/** Returns `acme-robotics-inc` for `Acme Robotics, Inc.`; the id when nothing usable is left of the name. */
export function sourceNameFor(
  company: { readonly id: string; readonly name: string },
  taken: readonly string[],
) {
  const plain = slugOf(company.name).slice(0, 40).replace(/-+$/, '');
  const base = parseSourceName(plain) === undefined ? idName(company.id) : plain;
  if (!taken.includes(base)) return base;
  for (let number = 2; ; number += 1) {
    // The loop ends because `taken` is finite.
    const name = `${base}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

const idName = (id: string): string =>
  id
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-')
    .slice(0, 60);

/** Returns the entry that already mirrors this company with a token, which is reconnected instead of duplicated. */
export function entryOf(
  entries: readonly SourceEntry[],
  company: { readonly id: string; readonly installation: string | null },
): SourceEntry | undefined {
  const withToken = entries.filter(({ credentials }) => credentials === undefined);
  return (
    withToken.find(
      ({ installation }) => installation !== undefined && installation === company.installation,
    ) ?? withToken.find((entry) => entry.company === company.id)
  );
}

/** Returns the names of the entries that mirror this company, with a token or a sign-in. */
export function namedFor(
  entries: readonly (SourceEntry & { readonly filters?: { readonly companyId?: string } })[],
  company: { readonly id: string; readonly installation: string | null },
): readonly string[] {
  return entries
    .filter(
      (entry) =>
        (entry.company ?? entry.filters?.companyId) === company.id ||
        (entry.installation !== undefined && entry.installation === company.installation),
    )
    .map(({ name }) => name);
}

/**
 * Returns the token file of this entry. A token from elsewhere is replaced by a file. The name of a new file contains the
 * company: another `connect` that finds the same source name at the same time must not overwrite it.
 */
export function tokenFileOf(entry: SourceEntry | undefined, name: string, companyId: string): string {
  const { token } = entry ?? {};
  const file = typeof token === 'object' && token !== null && 'file' in token ? token.file : undefined;
  return typeof file === 'string'
    ? file
    : `credentials/${name}-${companyId.replaceAll(/[^\w-]/g, '-')}.token`;
}
