const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Fixed windows. `period` is the word a 429 answers with. */
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

export const perPage = { default: 25, max: 100 } as const;
/** The tabs of a company page have pages of their own size. */
export const tabPerPage = { default: 20, max: 50 } as const;
export const companySearchLimit = { default: 8, max: 20 } as const;

/** "About 90 days": the sandbox takes it exactly. */
export const feedRetentionSeconds = 90 * day;
/** A position this old has a month left before it is void: time for a person to look. */
export const cursorWarningSeconds = 60 * day;
/** `updated_since` means the ledger position just before that time, less this margin. */
export const updatedSinceMarginSeconds = 60;

export const accessTokenSeconds = 2 * hour;
export const clientCredentialsSeconds = 24 * hour;
/** A code travels through a browser's address bar: long enough for the redirect, too short to be found later. */
export const authorizationCodeSeconds = 60;
/** A refresh token not used for this long is dead, and no chain of refreshes outlives the second. */
export const refreshIdleSeconds = 30 * day;
export const refreshAbsoluteSeconds = 365 * day;
/** Revoked installations stay in the listing this long. */
export const revokedInstallationsListedSeconds = 30 * day;

export const deliveryRetrySeconds = 72 * hour;
export const deliveryDisableSeconds = 3 * day;
export const secretOverlapSeconds = 24 * hour;
export const endpointQuota = { appWide: 10, perInstallation: 5 } as const;
