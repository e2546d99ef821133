import type { Exchange } from '../http/exchange.js';
import type { Services } from '../services.js';
import { digestOf, newSecret } from '../state/secrets.js';
import { one, run } from '../state/statements.js';

/** A browser that visits a page, signed in or not. */
export interface Visit {
  readonly user: { readonly no: number; readonly name: string; readonly email: string } | null;
  /** CSRF token in every form, derived from the cookie. */
  readonly csrf: string;
  /** Set-Cookie header for a browser without a session cookie. */
  readonly cookie: string | undefined;
}

const cookieName = 'platform_session';
const sessionSeconds = 8 * 60 * 60;
const secretShape = /^bs_[0-9A-Za-z]{40}$/;

/**
 * Visitors who have not signed in need no row: their cookie is a secret that is not stored, and the CSRF token is a
 * one-way digest of it.
 */
export function visitOf(exchange: Exchange): Visit {
  const { services } = exchange;
  const presented = cookieOf(exchange);
  const secret = presented ?? newSecret(services.random, 'bs_');
  const user = one<{ no: number; name: string; email: string }>(
    services.state,
    `SELECT u.no, u.name, u.email FROM browser_sessions b JOIN users u ON u.no = b.user_no
     WHERE b.digest = ? AND b.expires_at > ? AND u.deactivated_at IS NULL`,
    [digestOf(secret), exchange.now],
  );
  return {
    user: user ?? null,
    csrf: digestOf(`csrf:${secret}`),
    cookie: presented === undefined ? setCookie(exchange, secret) : undefined,
  };
}

/** Signs in with a new secret, which prevents session fixation. */
export function signIn(exchange: Exchange, userNo: number): string {
  const { services, now } = exchange;
  const secret = newSecret(services.random, 'bs_');
  services.state.transaction(() => {
    signOut(services, cookieOf(exchange));
    run(services.state, 'DELETE FROM browser_sessions WHERE expires_at <= ?', [now]);
    run(
      services.state,
      'INSERT INTO browser_sessions (digest, user_no, created_at, expires_at) VALUES (?, ?, ?, ?)',
      [digestOf(secret), userNo, now, now + sessionSeconds * 1000],
    );
  })();
  return setCookie(exchange, secret);
}

export function endVisit(exchange: Exchange): string {
  signOut(exchange.services, cookieOf(exchange));
  return `${cookieName}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`;
}

function signOut(services: Services, secret: string | undefined): void {
  if (secret !== undefined)
    run(services.state, 'DELETE FROM browser_sessions WHERE digest = ?', [digestOf(secret)]);
}

function cookieOf(exchange: Exchange): string | undefined {
  for (const part of (exchange.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === cookieName && value !== undefined && secretShape.test(value)) return value;
  }
  return undefined;
}

/** SameSite=Lax rather than Strict, because visitors arrive through a link on the application's site. */
function setCookie(exchange: Exchange, secret: string): string {
  const secure = exchange.services.options.publicUrl?.startsWith('https:') ? '; Secure' : '';
  return `${cookieName}=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${sessionSeconds}${secure}`;
}
