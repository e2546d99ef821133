/** Deployments of the platform differ in the prefix of their headers and, apart from it, in the request-id header. */
export interface HeaderNames {
  readonly version: string;
  readonly versionLatest: string;
  readonly signature: string;
  readonly requestId: string;
}

export const defaultHeaderPrefix = 'Service';
/** Its name is the same everywhere. */
export const idempotencyKeyHeader = 'Idempotency-Key';

export const defaultRequestIdHeader = 'X-Service-Request-Id';

export function headerNames(prefix = defaultHeaderPrefix, requestId = defaultRequestIdHeader): HeaderNames {
  return {
    version: `${prefix}-Version`,
    versionLatest: `${prefix}-Version-Latest`,
    signature: `${prefix}-Signature`,
    requestId,
  };
}
