import { Fault, type FaultCode, isFault } from '../../domain/fault.js';
import { instantFromMillis, millisOf } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { Interruption } from '../../runtime/interruption.js';
import type { Logger } from '../../runtime/logger.js';
import type { Api } from '../api.js';
import { refreshTokens, type TokenSet } from '../oauth.js';
import type { CredentialStore } from './credential-store.js';
import type { Credentials } from './credentials-file.js';
import { signInHint } from './sign-in-hint.js';
import type { TokenProvider } from './token-provider.js';

/*
 * Stores a rotating refresh token so that no crash loses the sign-in. The platform keeps the old refresh token valid
 * until the new access token is first used, hence this order:
 *
 *   lock → read again → refresh → store durably (file: write, sync, rename, sync the folder) → only now use it
 *
 * A crash before the pair is stored leaves the old pair: its refresh token still works, because the new access token was
 * never used. A crash after it leaves the new pair. A lost response is the first case. Two refreshes cannot
 * run at once: callers in this process share one, and other processes and hosts wait for the lock and then read the new pair.
 */

export interface RefreshingTokenParts {
  readonly store: CredentialStore;
  /** Returns the API of an application: `client.asApplication`. */
  readonly application: (clientId: string) => Api;
  /**
   * Returns the client secret when it is not stored with the tokens. Otherwise it is stored there, or there is none.
   */
  readonly clientSecret?: () => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Refresh this long before expiry: early enough for a running request, late enough not to waste a refresh. */
const leewayMillis = 30_000;

export function refreshingToken(parts: RefreshingTokenParts): TokenProvider {
  return new RefreshingToken(parts);
}

class RefreshingToken implements TokenProvider {
  readonly #parts: RefreshingTokenParts;
  #known: Credentials | undefined;
  /** The refresh token that was read or stored last. */
  #latest: string | null | undefined;
  /** See `signIn`. */
  #signIns = 0;
  #rotating: Promise<Credentials> | undefined;
  /** A refresh token that the platform rejected for good. Another attempt cannot succeed. */
  #dead: string | undefined;

  constructor(parts: RefreshingTokenParts) {
    this.#parts = parts;
  }

  reload(): void {
    this.#known = undefined;
  }

  async signIn(): Promise<number> {
    const isFirst = this.#latest === undefined;
    await this.#read();
    if (isFirst) this.#signIns += 1;
    this.reload();
    return this.#signIns;
  }

  async current(signal: Interruption): Promise<string> {
    const known = this.#known ?? (await this.#read());
    this.#known = known;
    if (known.refreshToken === null || this.#lifeLeft(known) > leewayMillis) return known.accessToken;
    try {
      return await this.renew(known.accessToken, signal);
    } catch (error) {
      // The token endpoint is briefly unavailable and the token is still valid, so use it.
      if (isTransient(error) && this.#lifeLeft(known) > 0) return known.accessToken;
      throw error;
    }
  }

  async renew(refused: string, signal: Interruption): Promise<string> {
    // Terminates: each further turn needs an earlier caller whose signal fired.
    for (;;) {
      if (this.#known !== undefined && this.#known.accessToken !== refused) return this.#known.accessToken;
      this.#rotating ??= this.#rotate(refused, signal).finally(() => {
        this.#rotating = undefined;
      });
      try {
        this.#known = await this.#rotating;
        return this.#known.accessToken;
      } catch (error) {
        if (!isFault(error, 'stopped') || signal.aborted) throw error;
      }
    }
  }

  #rotate(refused: string, signal: Interruption): Promise<Credentials> {
    const { store } = this.#parts;
    return store.withLock(signal, async (isMine) => {
      const stored = await this.#read();
      // Another process refreshed first, or a person signed in again.
      if (stored.accessToken !== refused) return stored;
      if (stored.refreshToken === null) return stored;
      const { refreshToken } = stored;
      const fresh = await this.#ask(stored, refreshToken, signal);
      if (fresh === undefined) return this.#adoptOther(refreshToken, dead());
      // This process stalled until another one took the lock. Use what that one stored; our pair was never used.
      if (!(await isMine())) return this.#adoptOther(refreshToken, takenOver(store.place));
      await store.write(fresh);
      this.#latest = fresh.refreshToken;
      this.#parts.logger.debug({ component: 'tokens', file: store.place }, 'access token refreshed');
      return fresh;
    });
  }

  /** Returns the new credentials, or undefined when the platform rejects both refresh tokens for good. */
  async #ask(
    stored: Credentials,
    refreshToken: string,
    signal: Interruption,
  ): Promise<Credentials | undefined> {
    if (refreshToken === this.#dead) return undefined;
    const api = this.#parts.application(stored.clientId);
    const { clientId } = stored;
    const clientSecret = (await this.#parts.clientSecret?.()) ?? stored.clientSecret;
    for (const candidate of [refreshToken, stored.previousRefreshToken]) {
      if (candidate === null) continue;
      try {
        const fresh = await refreshTokens(api, { clientId, clientSecret }, candidate, signal);
        return this.#merged(stored, candidate, fresh);
      } catch (error) {
        if (isFault(error) && aboutRefresh.has(error.code)) throw failedRefresh(error);
        if (!isFault(error, 'reauthorize')) throw error;
      }
    }
    return undefined;
  }

  /** Returns the credentials that another process stored meanwhile. Throws `otherwise` when there are none. */
  async #adoptOther(sent: string, otherwise: Fault): Promise<Credentials> {
    const stored = await this.#read();
    if (stored.refreshToken !== sent) return stored;
    if (otherwise.code === 'reauthorize') this.#dead = sent;
    throw otherwise;
  }

  /** `accepted` is the refresh token that the platform accepted. It stays valid until the new pair is used. */
  #merged(stored: Credentials, accepted: string, tokens: TokenSet): Credentials {
    const { clock } = this.#parts;
    return {
      ...stored,
      accessToken: tokens.accessToken,
      // A response without a refresh token means that the old one stays valid.
      refreshToken: tokens.refreshToken ?? accepted,
      previousRefreshToken: tokens.refreshToken === null ? stored.previousRefreshToken : accepted,
      expiresAt:
        tokens.expiresInSeconds === null
          ? null
          : instantFromMillis(clock.now() + tokens.expiresInSeconds * 1000),
      scope: tokens.scope === '' ? stored.scope : tokens.scope,
    };
  }

  /** Reads what is stored, and notices a sign-in that a person put in the place of the one that was read last. */
  async #read(): Promise<Credentials> {
    const stored = await this.#parts.store.read();
    const { refreshToken, previousRefreshToken } = stored;
    const latest = this.#latest;
    const isRefreshed = latest !== null && (refreshToken === latest || previousRefreshToken === latest);
    if (latest !== undefined && !isRefreshed) this.#signIns += 1;
    this.#latest = refreshToken;
    return stored;
  }

  #lifeLeft(credentials: Credentials): number {
    if (credentials.expiresAt === null) return Number.POSITIVE_INFINITY;
    return millisOf(credentials.expiresAt) - this.#parts.clock.now();
  }
}

function dead(): Fault {
  return new Fault('reauthorize', 'the platform no longer accepts the stored sign-in', {
    type: 'invalid_grant',
    hint: signInHint,
  });
}

/**
 * What the token endpoint says of the application, or what is no answer of it. Its 401 is about the client secret, its 403
 * about no record, and its 410 about no cursor.
 */
const aboutRefresh: ReadonlySet<FaultCode> = new Set([
  'refused',
  'unauthorized',
  'forbidden',
  'cursor_expired',
  'contract_broken',
]);

/** A refusal of the token endpoint, without its status: a 400 says nothing about the request that needed the token. */
function failedRefresh({ code, message, about }: Fault): Fault {
  const { status: _, ...rest } = about;
  if (code === 'contract_broken') return new Fault(code, message, rest);
  if (about.type === 'invalid_client') return new Fault('refused', message, rest);
  const hint = 'check clientId and clientSecret in the configuration';
  return new Fault('refused', message, { ...rest, hint });
}

function takenOver(place: string): Fault {
  return new Fault('unreachable', `another process took over the refresh of ${place}`);
}

function isTransient(error: unknown): boolean {
  return isFault(error, 'unreachable') || isFault(error, 'platform_error') || isFault(error, 'rate_limited');
}
