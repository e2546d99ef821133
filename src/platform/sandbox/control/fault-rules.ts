import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { eventNames } from '../../../wire/events.js';
import { legacyPrefix } from '../../../wire/paths.js';
import { patternOf, webhookPath } from '../faults.js';
import { isOperatorPath } from '../requests.js';

/** The body of `POST /_sandbox/faults`. A rule that could never take effect is refused: a test would wait for it in vain. */

const flag = z.literal(true).optional();
/** Node would cut the connection instead of sending another one. */
const isHeader = ([name, value]: readonly [string, string]): boolean => {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
};
const faultAction = z
  .strictObject({
    // A status below 200 announces another response, which would never come.
    status: z.int().min(200).max(599).optional(),
    body: z.unknown().optional(),
    headers: z
      .record(z.string(), z.string())
      .refine((headers) => Object.entries(headers).every(isHeader), 'are not headers of HTTP')
      .optional(),
    delayMs: z.number().min(0).max(3_600_000).optional(),
    drop: flag,
    truncate: z.int().min(0).optional(),
    omit: z.union([z.int().min(1), z.array(z.string()).min(1)]).optional(),
    recount: flag,
    lose: flag,
    duplicate: flag,
    hold: flag,
  })
  .refine(
    ({ body, headers, recount, ...does }) => Object.values(does).some((value) => value !== undefined),
    'is empty: give status, delayMs, drop, truncate, omit, lose, duplicate or hold',
  );

const methods = ['*', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** What a rule does to requests only, and to deliveries only. */
const ofRequests = ['body', 'headers', 'truncate', 'omit', 'recount'] as const;
const ofDeliveries = ['lose', 'duplicate', 'hold'] as const;
/** What has an effect only together with another part. */
const together = [
  ['body', 'status'],
  ['headers', 'status'],
  ['recount', 'omit'],
] as const;

const faultRule = z
  .strictObject({
    method: z
      .string()
      .refine((method) => methods.includes(method.toUpperCase()), `must be one of ${methods.join(', ')}`)
      .optional(),
    path: z
      .string()
      .transform(withoutPrefix)
      .refine(
        (path) => path === webhookPath || /^[/*][^?#]*$/.test(path),
        'must begin with / or *, without a query, or be webhook',
      )
      .refine((path) => !isOperatorPath(path), 'is a path of the sandbox itself, to which no rule applies'),
    event: z
      .string()
      .refine((event) => eventNames.some((name) => patternOf(event).test(name)), 'matches no event')
      .optional(),
    after: z.int().min(0).optional(),
    times: z.int().min(1).optional(),
    action: faultAction,
  })
  .superRefine(({ path, event, action }, context) => {
    const refuse = (field: readonly string[], message: string) =>
      context.addIssue({ code: 'custom', path: [...field], message });
    const isDelivery = path === webhookPath;
    if (event !== undefined && !isDelivery)
      refuse(['event'], 'is for webhook deliveries: give "path": "webhook"');
    for (const part of isDelivery ? ofRequests : ofDeliveries)
      if (action[part] !== undefined)
        refuse(
          ['action', part],
          isDelivery
            ? 'is for requests, not for webhook deliveries'
            : 'is for webhook deliveries: give "path": "webhook"',
        );
    for (const [part, other] of together)
      if (!isDelivery && action[part] !== undefined && action[other] === undefined)
        refuse(['action', part], `has no effect without ${other}`);
  });
export const faultBody = z.union([z.array(faultRule), faultRule]);

/** Rules are about paths without the legacy prefix, and apply to requests with it, too. */
function withoutPrefix(path: string): string {
  return path.startsWith(`${legacyPrefix}/`) ? path.slice(legacyPrefix.length) : path;
}
