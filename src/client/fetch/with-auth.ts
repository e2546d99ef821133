import type { TokenProvider } from '../tokens/token-provider.js';
import type { Fetch } from './fetch.js';

/**
 * Adds the bearer. After a 401 the token is renewed once and the same bytes are sent once more, whatever the
 * method: a request that was not let in did nothing. A second 401 goes up as it is.
 */
export function withAuth(fetch: Fetch, tokens: TokenProvider): Fetch {
  return async (call) => {
    const send = (token: string) =>
      fetch({ ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } });
    const token = await tokens.current(call.signal);
    const answer = await send(token);
    return answer.status === 401 ? send(await tokens.renew(token, call.signal)) : answer;
  };
}
