import type { RequestHandler } from 'express';

const policy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self'`,
  `connect-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

/** Sets headers on every response: no external or inline content, no framing, no caching, no referrer to other sites. */
export const safeHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // Not `no-referrer`: browsers would then send `Origin: null` with the console's own forms, as forged requests do.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'cache-control': 'no-store',
  });
  next();
};
