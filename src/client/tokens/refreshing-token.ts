import { Fault, isFault } from '../../domain/fault.js';
import { instantFromMillis, millisOf } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { Interruption } from '../../runtime/interruption.js';
import type { Logger } from '../../runtime/logger.js';
import type { Disk } from '../../runtime/replace-file.js';
import type { Api } from '../api.js';
import { refreshTokens, type TokenSet } from '../oauth.js';
import { type Credentials, readCredentials, writeCredentials } from './credentials-file.js';
import { withFileLock } from './file-lock.js';
import type { TokenProvider } from './token-provider.js';

/*
 * Custody of a rotating refresh token. The platform lets the old one live until the new access token is first used.
 * From that follows the order, and with it no crash can strand us:
 *
 *   lock → read the file again → ask → write beside, sync, rename, sync the folder → only now let anyone use it
 *
 * A crash before the rename leaves the old pair, whose refresh token still works because nobody used the new access
 * token; a crash after it leaves the new pair. A lost answer is the first case. Two refreshes at once cannot
 * happen: callers in this process share one, other processes wait for the lock and then find a fresh file.
 */

export interface RefreshingTokenParts {
  /** The credentials file; the lock stands beside it. */
  readonly path: string;
  /** The API as an application sees it: `client.asApplication`. */
  readonly application: (clientId: string) => Api;
  /** The client's secret when it is kept elsewhere; otherwise the file says, or there is none. */
  readonly clientSecret?: () => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly disk?: Disk;
}

/** Early enough for a request under way, late enough not to waste a refresh. */
const leewayMillis = 30_000;

export function refreshingToken(parts: RefreshingTokenParts): TokenProvider {
  return new RefreshingToken(parts);
}

class RefreshingToken implements TokenProvider {
  readonly #parts: RefreshingTokenParts;
  #known: Credentials | undefined;
  #rotating: Promise<Credentials> | undefined;
  /** A refresh token the platform called dead. Asking again with it cannot help. */
  #dead: string | undefined;

  constructor(parts: RefreshingTokenParts) {
    this.#parts = parts;
  }

  reload(): void {
    this.#known = undefined;
  }

  async current(signal: Interruption): Promise<string> {
    const known = this.#known ?? (await readCredentials(this.#parts.path));
    this.#known = known;
    if (known.refreshToken === null || this.#lifeLeft(known) > leewayMillis) return known.accessToken;
    try {
      return await this.renew(known.accessToken, signal);
    } catch (error) {
      // The token endpoint is away for a moment, the token still lives for one: it is used.
      if (isTransient(error) && this.#lifeLeft(known) > 0) return known.accessToken;
      throw error;
    }
  }

  async renew(refused: string, signal: Interruption): Promise<string> {
    // Ends: each further turn needs a caller before us whose signal fired.
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
    const { path, clock } = this.#parts;
    return withFileLock({ path: `${path}.lock`, clock, signal }, async (isMine) => {
      const stored = await readCredentials(path);
      // Another process was faster, or a human signed in again.
      if (stored.accessToken !== refused) return stored;
      if (stored.refreshToken === null) return stored;
      const { refreshToken } = stored;
      const fresh = await this.#ask(stored, refreshToken, signal);
      if (fresh === undefined) return this.#adoptOther(refreshToken, dead());
      // We stalled for so long that someone took our lock. What they store is used; our pair never was.
      if (!(await isMine())) return this.#adoptOther(refreshToken, takenOver(path));
      await writeCredentials(path, fresh, this.#parts.disk);
      this.#parts.logger.debug({ component: 'tokens', file: path }, 'access token refreshed');
      return fresh;
    });
  }

  /** Undefined when the platform calls every refresh token we have dead. */
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
        if (!isFault(error, 'reauthorize')) throw error;
      }
    }
    return undefined;
  }

  /** What someone else has stored in the meantime; `otherwise` when nobody has. */
  async #adoptOther(sent: string, otherwise: Fault): Promise<Credentials> {
    const stored = await readCredentials(this.#parts.path);
    if (stored.refreshToken !== sent) return stored;
    if (otherwise.code === 'reauthorize') this.#dead = sent;
    throw otherwise;
  }

  /** `accepted` is the token that was honoured: it lives on until the new pair is used, whichever of the two it was. */
  #merged(stored: Credentials, accepted: string, tokens: TokenSet): Credentials {
    const { clock } = this.#parts;
    return {
      ...stored,
      accessToken: tokens.accessToken,
      // A response without one means that the old one stays.
      refreshToken: tokens.refreshToken ?? accepted,
      previousRefreshToken: tokens.refreshToken === null ? stored.previousRefreshToken : accepted,
      expiresAt:
        tokens.expiresInSeconds === null
          ? null
          : instantFromMillis(clock.now() + tokens.expiresInSeconds * 1000),
      scope: tokens.scope === '' ? stored.scope : tokens.scope,
    };
  }

  #lifeLeft(credentials: Credentials): number {
    if (credentials.expiresAt === null) return Number.POSITIVE_INFINITY;
    return millisOf(credentials.expiresAt) - this.#parts.clock.now();
  }
}

function dead(): Fault {
  return new Fault('reauthorize', 'the platform no longer accepts the stored sign-in', {
    type: 'invalid_grant',
    hint: 'run `rosterd connect` to sign in again',
  });
}

function takenOver(path: string): Fault {
  return new Fault('unreachable', `another process took over the refresh of ${path}`);
}

function isTransient(error: unknown): boolean {
  return isFault(error, 'unreachable') || isFault(error, 'platform_error') || isFault(error, 'rate_limited');
}
