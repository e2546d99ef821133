import type { Request } from 'express';
import { isSameSecret } from '../../runtime/same-secret.js';
import type { Session } from './sessions.js';

/**
 * Whether a form was sent from a page of ours. The browser says where it comes from (`Origin`, and newer ones
 * `Sec-Fetch-Site`), and the form carries the token of the session: a page elsewhere can do neither.
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
  return URL.canParse(origin) && new URL(origin).host === host;
}

/** A field of the form that was posted; empty when it is missing or stands there twice. */
export function fieldOf(request: Request, name: string): string {
  const body = request.body as Readonly<Record<string, unknown>> | undefined;
  const value = body?.[name];
  return typeof value === 'string' ? value : '';
}

/** Where a form leads back to: a path of ours, whatever was sent. */
export function pathOf(text: string): string {
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(text) ? text : '/';
}
