const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Rate limits per fixed window. `period` is the text in a 429 response. */
export const rateLimits = {
  token: { limit: 1000, seconds: hour, period: 'hour' },
  ip: { limit: 5000, seconds: hour, period: 'hour' },
  catalogIp: { limit: 60, seconds: minute, period: 'minute' },
  publishableKey: { limit: 300, seconds: 5 * minute, period: '5 minutes' },
  tokenEndpointClient: { limit: 60, seconds: hour, period: 'hour' },
  tokenEndpointIp: { limit: 300, seconds: 5 * minute, period: '5 minutes' },
  webhookTest: { limit: 10, seconds: minute, period: 'minute' },
  pendingIntents: { limit: 10, seconds: hour, period: 'hour' },
  commentProposals: { limit: 20, seconds: day, period: 'day' },
} as const satisfies Record<string, RateLimit>;

export interface RateLimit {
  readonly limit: number;
  readonly seconds: number;
  readonly period: string;
}
export type RateLimitName = keyof typeof rateLimits;

/**
 * A client reserves a twentieth of a token's limit for webhooks, but at least twenty requests: enough for twenty pages after
 * a webhook. `reserveShare` belongs with `ownShare` of `sync/webhook-spacing.ts`: change both.
 */
const reserveShare = 0.05;
const reserveMin = 20;

/** Returns how many of a token's requests in a window routine work leaves unused. */
export const webhookReserve = (limit: number): number =>
  Math.min(limit - 1, Math.max(reserveMin, Math.ceil(limit * reserveShare)));

export const perPage = { default: 25, max: 100 } as const;
/** Page size of the company tabs. */
export const tabPerPage = { default: 20, max: 50 } as const;
export const companySearchLimit = { default: 8, max: 20 } as const;

/** The platform documents about 90 days; the sandbox uses exactly 90. */
export const feedRetentionSeconds = 90 * day;
/** Warn about cursors of this age, a month before they expire. */
export const cursorWarningSeconds = 60 * day;
/** `updated_since` starts this long before the given time. */
export const updatedSinceMarginSeconds = 60;

export const accessTokenSeconds = 2 * hour;
export const clientCredentialsSeconds = 24 * hour;
/** Lifetime of an authorization code: long enough for the redirect, too short to be reused from a browser history. */
export const authorizationCodeSeconds = 60;
/** A refresh token expires after this idle time, and every authorization after the absolute one. */
export const refreshIdleSeconds = 30 * day;
export const refreshAbsoluteSeconds = 365 * day;
/** How long revoked installations are listed. */
export const revokedInstallationsListedSeconds = 30 * day;

export const deliveryRetrySeconds = 72 * hour;
export const deliveryDisableSeconds = 3 * day;
export const secretOverlapSeconds = 24 * hour;
export const endpointQuota = { appWide: 10, perInstallation: 5 } as const;
