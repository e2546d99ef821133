/** Header names. Deployments differ in the prefix and in the name of the request-id header. */
export interface HeaderNames {
  readonly version: string;
  readonly versionLatest: string;
  readonly signature: string;
  readonly requestId: string;
}

export const defaultHeaderPrefix = 'Service';
/** The same in all deployments. */
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
