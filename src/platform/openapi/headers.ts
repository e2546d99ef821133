import type { oas31 } from 'zod-openapi';
import { type HeaderNames, idempotencyKeyHeader } from '../../wire/headers.js';
import { latestVersion, versionAliases, versions } from '../../wire/versions.js';

const text = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'string' } });
const whole = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'integer' } });

export const headerComponents: Readonly<Record<string, oas31.HeaderObject>> = {
  RequestId: text('Names the request; an error repeats it.'),
  Version: text('The version that handled the request.'),
  VersionLatest: text('The latest released version.'),
  RateLimitLimit: whole('Requests per window.'),
  RateLimitRemaining: whole('Always 0: the headers of a limit come only when it is used up.'),
  RateLimitReset: whole('When the window ends, in Unix seconds.'),
  Challenge: text('`Bearer`, with `error="invalid_token"` when a credential was given that is not accepted.'),
  Location: { ...text('Where the browser goes next, with GET.'), required: true },
  Disposition: text('The name of the file.'),
};

const reference = (name: string): oas31.HeaderObject => ({ $ref: `#/components/headers/${name}` });

/** On every response. */
export const commonResponseHeaders = (names: HeaderNames): Record<string, oas31.HeaderObject> => ({
  [names.requestId]: reference('RequestId'),
  [names.version]: reference('Version'),
  [names.versionLatest]: reference('VersionLatest'),
});

/** On 429 and nowhere else. */
export const limitHeaders: Readonly<Record<string, oas31.HeaderObject>> = {
  'X-RateLimit-Limit': reference('RateLimitLimit'),
  'X-RateLimit-Remaining': reference('RateLimitRemaining'),
  'X-RateLimit-Reset': reference('RateLimitReset'),
};

export const challengeHeaders = { 'WWW-Authenticate': reference('Challenge') };
export const redirectHeaders = { Location: reference('Location') };
export const fileHeaders = { 'Content-Disposition': reference('Disposition') };

export const idempotencyParameter: oas31.ParameterObject = {
  name: idempotencyKeyHeader,
  in: 'header',
  required: false,
  description:
    'Up to 255 printable ASCII characters of your choice. Within 24 hours the same key with the same request answers ' +
    'what the first one answered; with another request it is a 422 `idempotency_conflict`. A refused request keeps no key.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export const versionParameter = (names: HeaderNames): oas31.ParameterObject => ({
  name: names.version,
  in: 'header',
  required: false,
  description:
    `The dated version to answer in. Without it the application's pin decides, and without an application ` +
    `${latestVersion}. ${Object.entries(versionAliases)
      .map(([alias, version]) => `${alias} is an alias of ${version}.`)
      .join(' ')}`,
  schema: { type: 'string', enum: [...versions, ...Object.keys(versionAliases)] },
});
