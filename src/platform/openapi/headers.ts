import type { oas31 } from 'zod-openapi';
import { type HeaderNames, idempotencyKeyHeader } from '../../wire/headers.js';
import { latestVersion, versionAliases, versions } from '../../wire/versions.js';

const text = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'string' } });
const whole = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'integer' } });

export const headerComponents: Readonly<Record<string, oas31.HeaderObject>> = {
  RequestId: text('Id of the request, also in the body of an error.'),
  Version: text('The version that handled the request.'),
  VersionLatest: text('The latest released version.'),
  RateLimitLimit: whole('Requests per window.'),
  RateLimitRemaining: whole('Always 0: rate limit headers are sent only when the limit is exhausted.'),
  RateLimitReset: whole('When the window resets, in Unix seconds.'),
  Challenge: text('`Bearer`, with `error="invalid_token"` when the credential is invalid.'),
  Location: { ...text('URL the browser requests next, with GET.'), required: true },
  Disposition: text('File name of the download.'),
  ETag: text('Weak validator of the resource, for `If-None-Match`.'),
};

const reference = (name: string): oas31.HeaderObject => ({ $ref: `#/components/headers/${name}` });

/** Headers of every response. */
export const commonResponseHeaders = (names: HeaderNames): Record<string, oas31.HeaderObject> => ({
  [names.requestId]: reference('RequestId'),
  [names.version]: reference('Version'),
  [names.versionLatest]: reference('VersionLatest'),
});

/** Headers of a 429 only. */
export const limitHeaders: Readonly<Record<string, oas31.HeaderObject>> = {
  'X-RateLimit-Limit': reference('RateLimitLimit'),
  'X-RateLimit-Remaining': reference('RateLimitRemaining'),
  'X-RateLimit-Reset': reference('RateLimitReset'),
};

export const challengeHeaders = { 'WWW-Authenticate': reference('Challenge') };
export const redirectHeaders = { Location: reference('Location') };
export const validatorHeaders = { ETag: reference('ETag') };
export const fileHeaders = { 'Content-Disposition': reference('Disposition') };

export const idempotencyParameter: oas31.ParameterObject = {
  name: idempotencyKeyHeader,
  in: 'header',
  required: false,
  description:
    'Up to 255 printable ASCII characters. For 24 hours the same key with the same request returns the first response; ' +
    'with a different request it returns a 422 `idempotency_conflict`. A rejected request does not store the key.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export const ifNoneMatchParameter: oas31.ParameterObject = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier response. While it is the same, the response is a 304 without a body.',
  schema: { type: 'string' },
};

export const versionParameter = (names: HeaderNames): oas31.ParameterObject => ({
  name: names.version,
  in: 'header',
  required: false,
  description:
    `The API version as a date. Without it, the version pinned by the application applies, and without an application ` +
    `${latestVersion}. ${Object.entries(versionAliases)
      .map(([alias, version]) => `${alias} is an alias of ${version}.`)
      .join(' ')}`,
  schema: { type: 'string', enum: [...versions, ...Object.keys(versionAliases)] },
});
