import { Fault } from '../../domain/fault.js';
import type { Vault } from '../../vault/ports.js';
import type { TokenProvider } from './token-provider.js';

/**
 * Returns a provider for a token managed elsewhere: an installation token from an environment variable, a file or the
 * output of a command. After a 401 it is read again, because it may have been replaced.
 */
export function staticToken(read: () => string | Promise<string>): TokenProvider {
  let known: string | undefined;
  let reading: Promise<string> | undefined;
  const readOnce = () => {
    reading ??= Promise.resolve()
      .then(read)
      .then((text) => {
        known = validated(text);
        return known;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  return {
    reload: () => {
      known = undefined;
    },
    current: async () => known ?? readOnce(),
    renew: async (refused) => (known !== undefined && known !== refused ? known : readOnce()),
  };
}

/** Returns a provider for a token that rosterd minted. After a 401 the entry is read again: another host may have replaced it. */
export function storedToken(vault: Pick<Vault, 'read'>, key: string): TokenProvider {
  return staticToken(async () => {
    const token = await vault.read(key);
    if (token !== null) return token;
    throw new Fault('reauthorize', `there is no token: the vault has no entry "${key}"`, {
      hint: 'the next look at the installations mints one, if the application is still installed',
    });
  });
}

/** Throws `usage` for an empty token and for characters that a header cannot carry. */
function validated(text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Fault(
    'usage',
    token === '' ? 'the token is empty' : 'the token has characters that are not allowed in a token',
    {
      hint: 'check the setting `token` of this source',
    },
  );
}
