import type { Clash } from './clash.js';
import { isPostgres } from './database.js';
import { type Path, pathText } from './path.js';
import type { Settings } from './settings.js';
import { type AccessSettings, followRules, listedSources } from './source-entries.js';

/** Entries are encrypted in PostgreSQL, with the keys, or files beside a SQLite mirror, without keys. */
export function vaultClashes(settings: Settings): readonly Clash[] {
  const { database, vault } = settings;
  if (!isPostgres(database))
    return vault.keys.length === 0
      ? []
      : [
          {
            path: ['vault', 'keys'],
            message: 'is only for a PostgreSQL database, and "database" names a file',
            hint: 'remove the keys: the vault is then the folder vault.folder, which only this user can read',
          },
        ];
  const named = vaultUsers(settings);
  const stored = vault.keys.length > 0 ? [] : [...signIns(named), ...minted(settings)];
  return [
    ...stored.slice(0, 1).map((what) => ({
      path: ['vault', 'keys'],
      message: `is empty, and ${what} in the vault of a PostgreSQL database`,
      hint: '`openssl rand -base64 32` makes a key; then "vault": {"keys": [{"env": "VAULT_KEY"}]}',
    })),
    ...named.flatMap(({ name, clientId, path }, index) => {
      const first = named.findIndex((other) => other.name === name && other.clientId !== clientId);
      if (first === -1 || first > index) return [];
      return [
        {
          path,
          message: `is ${name}, the entry of ${pathText(named[first]?.path ?? [])} for another application; expected another name`,
        },
      ];
    }),
  ];
}

const signIns = (named: readonly VaultUser[]) =>
  named.map(({ path }) => `${pathText(path)} stores a sign-in`);

const minted = ({ sources }: Settings) =>
  followRules(sources).map(({ at }) => `${pathText(at)} stores the tokens of its sources`);

interface VaultUser {
  readonly name: string;
  readonly clientId: string;
  readonly path: Path;
}

function vaultUsers({ sources, platform }: Settings): readonly VaultUser[] {
  const accesses: readonly { readonly access: AccessSettings['credentials']; readonly at: Path }[] = [
    ...listedSources(sources).map(({ source, at }) => ({ access: source.credentials, at })),
    ...followRules(sources).map(({ rule, at }) => ({ access: rule.credentials, at })),
    { access: platform.management?.credentials, at: ['platform', 'management'] },
  ];
  return accesses.flatMap(({ access, at }) =>
    access?.vault === undefined
      ? []
      : [{ name: access.vault, clientId: access.clientId, path: [...at, 'credentials', 'vault'] }],
  );
}
