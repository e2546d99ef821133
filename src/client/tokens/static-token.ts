import { Fault } from '../../domain/fault.js';
import type { TokenProvider } from './token-provider.js';

/**
 * A token someone else looks after: an installation token in an environment variable, a file or a command's
 * output. After a 401 it is read again, because whoever looks after it may have replaced it.
 */
export function staticToken(read: () => string | Promise<string>): TokenProvider {
  let known: string | undefined;
  let reading: Promise<string> | undefined;
  const readOnce = () => {
    reading ??= Promise.resolve()
      .then(read)
      .then((text) => {
        known = sane(text);
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

/** A header cannot carry line breaks, and an empty token would be sent as a promise that fails. */
function sane(text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Fault('usage', token === '' ? 'the token is empty' : 'the token has characters no token has', {
    hint: 'check where `token` of this source points',
  });
}
