import { readCredentials } from '../client/tokens/credentials-file.js';
import type { Access, Config } from '../config/config.js';
import { secretFaults } from '../config/unreadable-secrets.js';
import { type Check, failedBy, pass, skip } from './check.js';

/** Checks that secrets can be read and their files are private. Commands that print a secret are not run. */
export async function secretsCheck(config: Config): Promise<Check> {
  const [first, ...more] = await secretFaults(config);
  if (first === undefined) return pass('secrets', 'every secret can be read, and only by this user');
  const check = failedBy('secrets', first, 'rosterd config validate');
  return more.length === 0 ? check : { ...check, message: `${check.message}; and ${more.length} more` };
}

export async function credentialsCheck(config: Config): Promise<Check> {
  const name = 'credentials';
  const files = accessesOf(config).flatMap((access) => (access.kind === 'credentials' ? [access.file] : []));
  if (files.length === 0) return skip(name, 'no source signs in: tokens do not rotate');
  try {
    for (const file of files) await readCredentials(file);
    return pass(name, `${files.length} files of rotating tokens are usable and private`);
  } catch (error) {
    return failedBy(name, error, 'rosterd connect');
  }
}

function accessesOf({ sources, follows, platform }: Config): readonly Access[] {
  return [
    ...[...sources, ...follows].map(({ access }) => access),
    ...(platform.management === null ? [] : [platform.management]),
  ];
}
