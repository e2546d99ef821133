import type { ConsoleSignIn } from '../config/config.js';
import type { Secret } from '../config/secrets.js';
import type { ConsoleAuth, Credential } from '../console/guard/authenticator.js';
import { Fault, isFault } from '../domain/fault.js';

/** Sign-in attempts are rate limited, but that does not protect a short secret. */
const lengthMin = 12;

/**
 * Reads every secret once, so that a missing or short one fails at the start, and checks the length of every later
 * reading, because a secret can be rotated at any time. Throws `usage`.
 */
export async function consoleAuthOf(auth: ConsoleSignIn): Promise<ConsoleAuth> {
  const [fault] = await signInFaults(auth, { runCommands: true });
  if (fault !== undefined) throw fault;
  const { tokens, basic, proxy } = auth;
  return {
    tokens: tokens.map(
      ({ name, role, token }): Credential => ({
        name: name === null ? 'token' : `token:${name}`,
        role,
        secret: () => longEnough(token),
      }),
    ),
    basic:
      basic === null
        ? null
        : {
            name: `password:${basic.user}`,
            role: 'analyst',
            secret: async () => `${basic.user}:${await longEnough(basic.password)}`,
          },
    proxy,
  };
}

/** Returns what keeps the console from using its secrets. Without `runCommands`, secrets that a command prints are left out. */
export async function signInFaults(
  { tokens, basic }: ConsoleSignIn,
  { runCommands }: { readonly runCommands: boolean },
): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  const seen = new Map<string, string>();
  for (const secret of [...tokens.map(({ token }) => token), ...(basic === null ? [] : [basic.password])]) {
    if (!runCommands && secret.runsCommand) continue;
    try {
      const value = await longEnough(secret);
      const same = seen.get(value);
      if (same === undefined) seen.set(value, secret.name);
      else
        faults.push(
          new Fault('usage', `${secret.name}: has the value of ${same}; each user needs a token of its own`, {
            hint: 'for example what `openssl rand -hex 24` prints',
          }),
        );
    } catch (error) {
      if (!isFault(error)) throw error;
      faults.push(error);
    }
  }
  return faults;
}

async function longEnough(secret: Secret): Promise<string> {
  const value = await secret.reveal();
  if (value.length >= lengthMin) return value;
  throw new Fault('usage', `${secret.name}: shorter than ${lengthMin} characters`, {
    hint: 'for example what `openssl rand -hex 24` prints',
  });
}
