import { parseSourceName } from '../domain/ids.js';

/** A source as it stands, or will stand, in the configuration file; its other options are kept. */
export interface SourceEntry {
  readonly name: string;
  readonly token?: unknown;
  readonly credentials?: unknown;
  readonly company?: string;
  readonly installation?: string;
}

/** `Acme Robotics, Inc.` is the source `acme-robotics-inc`; the id where nothing usable is left of the name. */
export function sourceNameFor(
  company: { readonly id: string; readonly name: string },
  taken: readonly string[],
) {
  const plain = company.name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  const base = parseSourceName(plain) === undefined ? idName(company.id) : plain;
  if (!taken.includes(base)) return base;
  for (let number = 2; ; number += 1) {
    // Ends: `taken` is finite.
    const name = `${base}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

const idName = (id: string): string =>
  id
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-')
    .slice(0, 60);

/** The entry that already mirrors this company with a token, if there is one: it is connected again, not doubled. */
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

/** Names of the entries that say they mirror this company, by whatever way in. */
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

/** Where a file-held token of this entry is; a token from elsewhere is replaced by a file. */
export function tokenFileOf(entry: SourceEntry | undefined, name: string): string {
  const { token } = entry ?? {};
  const held = typeof token === 'object' && token !== null && 'file' in token ? token.file : undefined;
  return typeof held === 'string' ? held : `credentials/${name}.token`;
}
