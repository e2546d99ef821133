import type { oas31 } from 'zod-openapi';
import type { HeaderNames } from '../../contract/headers.js';
import { latestVersion, versionAliases, versions } from '../../contract/versions.js';

const text = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'string' } });
const whole = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'integer' } });

export const headerComponents: Readonly<Record<string, oas31.HeaderObject>> = {
  RequestId: text('Names the request; an error repeats it.'),
  Version: text('The version that handled the request.'),
  VersionLatest: text('The latest released version.'),
  RateLimitLimit: whole('Requests per window.'),
  RateLimitRemaining: whole('Always 0: the headers of a limit come only when it is used up.'),
  RateLimitReset: whole('When the window ends, in Unix seconds.'),
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
