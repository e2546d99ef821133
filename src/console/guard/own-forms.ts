import type { Request } from 'express';
import { isSameSecret } from '../../runtime/same-secret.js';
import type { Session } from './sessions.js';

/**
 * Returns whether a form was sent from a page of this console. The browser sends the origin (`Origin`, and newer
 * browsers `Sec-Fetch-Site`), and the form has the CSRF token of the session. Another site can forge neither.
 */
export function isOwnForm(request: Request, session: Session | undefined): boolean {
  return (
    isOwnOrigin(request) && session !== undefined && isSameSecret(fieldOf(request, 'csrf'), session.csrf)
  );
}

export function isOwnOrigin(request: Request): boolean {
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return site === 'same-origin';
  return URL.parse(origin) !== null && new URL(origin).host === host;
}

/** Returns a field of the posted form; empty when it is missing or repeated. */
export function fieldOf(request: Request, name: string): string {
  const body = request.body as Readonly<Record<string, unknown>> | undefined;
  const value = body?.[name];
  return typeof value === 'string' ? value : '';
}

/** Returns a local path to redirect to, and `/` for anything else. */
export function pathOf(text: string): string {
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(text) ? text : '/';
}
