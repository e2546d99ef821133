import { text } from 'node:stream/consumers';
import { type Api, createApi } from '../../../src/client/api.js';
import type { WireFetch, WireResponse } from '../../../src/client/fetch/fetch.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import type { Clock } from '../../../src/runtime/clock.js';
import { headerNames } from '../../../src/wire/headers.js';
import { listen } from '../fetch/wire-server.js';

/** What happens to one request to the token endpoint. */
export type Wire = (send: () => Promise<WireResponse>) => Promise<WireResponse>;

interface Refresh {
  readonly parent: string | null;
  isDead: boolean;
}

interface Access {
  readonly parent: string;
  readonly refresh: string;
  isVoid: boolean;
}

/**
 * The platform's token endpoint, with the one rule that matters here: a refresh token is valid until an access token
 * issued for it is first used. `voids`: whether a repeated refresh voids the unused pair.
 */
export class TokenServer {
  readonly #refresh = new Map<string, Refresh>();
  readonly #access = new Map<string, Access>();
  readonly #voids: boolean;
  #issued = 0;
  wire: Wire = (send) => send();
  asked = 0;
  invalidGrants = 0;
  inFlight = 0;
  inFlightMax = 0;

  constructor(options: { voids?: boolean } = {}) {
    this.#voids = options.voids ?? false;
    this.#refresh.set('rt_0', { parent: null, isDead: false });
  }

  api(clock: Clock): Api {
    const fetch: WireFetch = (_url, init) => this.wire(() => this.answer(init.body ?? ''));
    return createApi({ baseUrl: 'http://token.test', fetch: withCaps(fetch), names: headerNames(), clock });
  }

  async answer(form: string): Promise<WireResponse> {
    this.asked += 1;
    this.inFlight += 1;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    // A real endpoint takes a moment. Without a delay no two refreshes could overlap.
    await new Promise((resolve) => setImmediate(resolve));
    this.inFlight -= 1;
    const query = new URLSearchParams(form);
    const old = query.get('refresh_token') ?? '';
    const known = this.#refresh.get(old);
    if (query.get('grant_type') !== 'refresh_token' || known === undefined || known.isDead) {
      this.invalidGrants += 1;
      return response(400, { error: 'invalid_grant', error_description: 'The token was used.' });
    }
    if (this.#voids) this.#voidChildren(old);
    this.#issued += 1;
    const pair = { access: `at_${this.#issued}`, refresh: `rt_${this.#issued}` };
    this.#refresh.set(pair.refresh, { parent: old, isDead: false });
    this.#access.set(pair.access, { parent: old, refresh: pair.refresh, isVoid: false });
    return response(200, {
      access_token: pair.access,
      token_type: 'Bearer',
      expires_in: 7200,
      refresh_token: pair.refresh,
      scope: 'read:investments',
      created_at: 0,
    });
  }

  /** An API call: returns whether the access token was accepted. Its first use ends the refresh token it came from. */
  use(access: string): boolean {
    const known = this.#access.get(access);
    if (known === undefined || known.isVoid) return false;
    const parent = this.#refresh.get(known.parent);
    if (parent !== undefined) parent.isDead = true;
    return true;
  }

  #voidChildren(old: string): void {
    for (const access of this.#access.values()) {
      if (access.parent !== old) continue;
      access.isVoid = true;
      const refresh = this.#refresh.get(access.refresh);
      if (refresh !== undefined) refresh.isDead = true;
    }
  }
}

export function response(status: number, body: unknown): WireResponse {
  return {
    status,
    headers: new Headers({ 'content-type': 'application/json' }),
    body: (async function* () {
      yield Buffer.from(JSON.stringify(body));
    })(),
  };
}

/** Starts a token endpoint as a server on loopback, for child processes. It closes with the test. */
export async function serveTokens() {
  const tokens = new TokenServer();
  const { url } = await listen(async (request, response) => {
    const answer = await tokens.answer(await text(request));
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  return { tokens, url };
}
