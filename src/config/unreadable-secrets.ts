import { Fault } from '../domain/fault.js';
import { vaultKeyBytes, vaultKeyHint } from '../runtime/vault-key.js';
import type { Access, Config, ConsoleSignIn } from './config.js';
import type { Secret } from './secrets.js';

/**
 * Returns a message for each secret that cannot be read now. These are warnings, because a configuration may be checked
 * on a machine without its secrets. Does not run commands.
 */
export async function unreadableSecrets(config: Config): Promise<readonly string[]> {
  return (await secretFaults(config)).map(({ message }) => message);
}

/** Returns the faults behind `unreadableSecrets`, which have hints. */
export async function secretFaults(config: Config): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  for (const secret of secretsOf(config)) {
    try {
      await secret.check();
      if (config.vault.keys.includes(secret)) await checkVaultKey(secret);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(error);
    }
  }
  return faults;
}

/** Returns whether a command prints one of the secrets. It is not run. */
export function hasSecretCommand(config: Config): boolean {
  return secretsOf(config).some(({ runsCommand }) => runsCommand);
}

/** Throws `usage` for a text that is not a key. A command is not run for it. */
export async function checkVaultKey(secret: Secret): Promise<void> {
  if (secret.runsCommand || vaultKeyBytes(await secret.reveal()) !== null) return;
  throw new Fault('usage', `${secret.name}: is not a key (${secret.origin})`, { hint: vaultKeyHint });
}

/** Returns the secrets without which no daemon starts; the console's are not among them. */
export function secretsOfStart({ database, receiver, vault }: Config): readonly Secret[] {
  const password = database.kind === 'postgres' ? database.password : null;
  return [...(password === null ? [] : [password]), ...vault.keys, ...(receiver?.secrets ?? [])];
}

/** Returns every secret of a configuration. */
export function secretsOf(config: Config): readonly Secret[] {
  const { application, management } = config.platform;
  const { database } = config;
  return [
    ...(database.kind === 'postgres' && database.password !== null ? [database.password] : []),
    ...config.vault.keys,
    ...(application?.clientSecret == null ? [] : [application.clientSecret]),
    ...(management === null ? [] : secretsOfAccess(management)),
    ...[...config.sources, ...config.follows].flatMap(({ access }) => secretsOfAccess(access)),
    ...(config.receiver?.secrets ?? []),
    ...secretsOfConsole(config.console?.auth ?? null),
    ...config.notices.flatMap((notice) => {
      if (notice.kind === 'command') return [];
      return notice.kind === 'slack' ? [notice.webhookUrl] : [notice.secret];
    }),
    ...config.afterSync.flatMap((hook) => (hook.kind === 'http' ? [hook.secret] : [])),
  ];
}

function secretsOfAccess(access: Access): readonly Secret[] {
  if (access.kind === 'token') return [access.token];
  if (access.kind === 'stored') return [];
  return access.clientSecret === null ? [] : [access.clientSecret];
}

function secretsOfConsole(auth: ConsoleSignIn | null): readonly Secret[] {
  if (auth === null) return [];
  return [...auth.tokens.map(({ token }) => token), ...(auth.basic === null ? [] : [auth.basic.password])];
}
