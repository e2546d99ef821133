import type { Config } from '../config/config.js';
import { hasSecretCommand, secretFaults } from '../config/unreadable-secrets.js';
import { credentialsAt } from '../daemon/credentials-at.js';
import { counted } from '../domain/counted.js';
import { isFault } from '../domain/fault.js';
import type { OpenVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import type { Vault } from '../vault/ports.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';
import { signInCommand } from './sign-in-command.js';

/** Checks that secrets can be read and their files are private. Commands that print a secret are not run. */
export async function secretsCheck(config: Config): Promise<Check> {
  const [first, ...more] = await secretFaults(config);
  if (first === undefined)
    return pass('secrets', hasSecretCommand(config) ? `${readable}; commands were not run` : readable);
  const check = failedBy('secrets', first, 'rosterd config validate');
  return more.length === 0 ? check : { ...check, message: `${check.message}; and ${more.length} more` };
}

const readable = 'every secret in a file or a variable can be read, and only by this user';

export async function credentialsCheck(config: Config, vault: Vault, clock: Clock): Promise<Check> {
  const name = 'credentials';
  const signIns = signInsOf(config);
  if (signIns.length === 0) return skip(name, 'no source signs in: tokens do not rotate');
  for (const { access, command } of signIns) {
    if (access.kind !== 'credentials') continue;
    try {
      await credentialsAt(access.at, vault, clock).read();
    } catch (error) {
      return isFault(error, 'reauthorize')
        ? fail(name, error.message, command)
        : failedBy(name, error, command);
    }
  }
  return pass(
    name,
    `${counted(signIns.length, 'sign-in')} with rotating tokens ${signIns.length === 1 ? 'is' : 'are'} usable and private`,
  );
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
        `${missing.entries === 1 ? '1 entry is' : `${missing.entries} entries are`} encrypted with key ${missing.id}, which is not listed`,
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

/** Returns what signs in with rotating tokens, and the command that signs in again. */
function signInsOf({ sources, follows, platform: { management } }: Config) {
  return [
    ...sources.map((source) => ({ access: source.access, command: signInCommand(source) })),
    ...follows.map(({ rule, access }) => ({ access, command: `rosterd connect --rule ${rule}` })),
    ...(management === null ? [] : [{ access: management, command: 'rosterd connect --management' }]),
  ].filter(({ access }) => access.kind === 'credentials');
}
