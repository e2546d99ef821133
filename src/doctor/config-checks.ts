import type { Access, Config } from '../config/config.js';
import { secretFaults } from '../config/unreadable-secrets.js';
import { credentialsAt } from '../daemon/credentials-at.js';
import type { OpenVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import type { Vault } from '../vault/ports.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';

/** Checks that secrets can be read and their files are private. Commands that print a secret are not run. */
export async function secretsCheck(config: Config): Promise<Check> {
  const [first, ...more] = await secretFaults(config);
  if (first === undefined) return pass('secrets', 'every secret can be read, and only by this user');
  const check = failedBy('secrets', first, 'rosterd config validate');
  return more.length === 0 ? check : { ...check, message: `${check.message}; and ${more.length} more` };
}

export async function credentialsCheck(config: Config, vault: Vault, clock: Clock): Promise<Check> {
  const name = 'credentials';
  const places = accessesOf(config).flatMap((access) => (access.kind === 'credentials' ? [access.at] : []));
  if (places.length === 0) return skip(name, 'no source signs in: tokens do not rotate');
  try {
    for (const place of places) await credentialsAt(place, vault, clock).read();
    return pass(name, `${places.length} sign-ins with rotating tokens are usable and private`);
  } catch (error) {
    return failedBy(name, error, 'rosterd connect');
  }
}

/** Checks that every entry of an encrypted vault has its key, and that the first key encrypts all. */
export async function vaultCheck(vault: OpenVault): Promise<Check> {
  const name = 'vault';
  if (vault.folder !== null) return skip(name, 'nothing is encrypted: vault.keys is empty');
  try {
    const encrypted = await vault.encrypted();
    if (encrypted === null) return skip(name, 'nothing is encrypted');
    const { entries, keys } = await encrypted.status();
    const missing = keys.find(({ role }) => role === 'missing');
    if (missing !== undefined)
      return fail(
        name,
        `${missing.entries} entries are encrypted with key ${missing.id}, which is not listed`,
        'add that key to vault.keys in config.json',
      );
    const older = keys.filter(({ role }) => role === 'older').reduce((sum, key) => sum + key.entries, 0);
    return older === 0
      ? pass(name, `${entries} entries, all under the first key`)
      : warn(name, `${older} of ${entries} entries are under an older key`, 'rosterd vault rotate');
  } catch (error) {
    return failedBy(name, error, 'rosterd vault status');
  }
}

function accessesOf({ sources, follows, platform }: Config): readonly Access[] {
  return [
    ...[...sources, ...follows].map(({ access }) => access),
    ...(platform.management === null ? [] : [platform.management]),
  ];
}
