import type { TokenProvider } from '../tokens/token-provider.js';
import type { Fetch } from './fetch.js';

/**
 * Adds the bearer token. After a 401 the token is renewed once and the same request is sent once more, whatever its
 * method: an unauthenticated request had no effect. A second 401 is returned.
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
