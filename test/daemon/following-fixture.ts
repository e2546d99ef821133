import type { Config } from '../../src/config/config.js';
import { configFrom } from '../../src/config/config-from.js';
import { Secret } from '../../src/config/secrets.js';
import { settingsSchema } from '../../src/config/settings.js';
import { defined } from '../../src/domain/defined.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';

export interface RuleWish {
  readonly folder: string;
  /** Settings of the rule beside the account. */
  readonly rule?: Readonly<Record<string, unknown>>;
  readonly receiver?: { readonly port: number; readonly secret: string };
  /** Default: a file in the folder. */
  readonly database?: string;
  /** Environment variable with the key of the vault, for PostgreSQL. */
  readonly vaultKey?: string;
}

/** Returns a configuration that follows what is installed of the sandbox's application. */
export function followingConfig({ ready }: Pick<Sandbox, 'ready'>, wish: RuleWish): Config {
  const owner = ready.users.find(({ email }) => email.startsWith('owner'));
  if (owner === undefined) throw new Error('a sandbox without an owner');
  const env = defined({ VAULT_KEY: wish.vaultKey });
  const config = configFrom(
    settingsSchema.parse({
      platform: { baseUrl: ready.baseUrl },
      database: wish.database ?? 'sqlite:mirror.db',
      sources: [{ follow: 'installations', token: owner.token, ...wish.rule }],
      sync: { intervalSeconds: 3_600 },
      console: { listen: '127.0.0.1:0' },
      vault: wish.vaultKey === undefined ? { folder: 'vault' } : { keys: [{ env: 'VAULT_KEY' }] },
      receiver:
        wish.receiver === undefined
          ? null
          : { listen: `127.0.0.1:${wish.receiver.port}`, secrets: [{ env: 'UNUSED' }] },
    }),
    { env, folderOf: () => wish.folder },
  );
  if (config.receiver === null || wish.receiver === undefined) return config;
  const secret = new Secret('receiver.secrets[0]', wish.receiver.secret, { env: {}, folder: wish.folder });
  return { ...config, receiver: { ...config.receiver, secrets: [secret] } };
}
