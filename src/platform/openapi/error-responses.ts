import { z } from 'zod';
import { type ErrorStatus, errorTypes, portalErrorTypes } from '../contract/errors.js';

interface StatusWords {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly details?: z.ZodType;
}

const fieldErrors = z
  .array(z.object({ field: z.string(), code: z.string(), message: z.string() }))
  .describe('One entry per invalid field, with its path.');

/** `details` has the data a program needs to react. More fields may be added. */
const statuses: Readonly<Record<ErrorStatus, StatusWords>> = {
  400: {
    name: 'BadRequest',
    description: 'The request is malformed: an invalid parameter, invalid JSON or an unknown version.',
    details: z.looseObject({
      parameter: z.string().optional().describe('The invalid query parameter.'),
      valid_versions: z.array(z.string()).optional(),
      removed_in_version: z.string().optional().describe('The version that removed the action.'),
    }),
  },
  401: {
    name: 'Unauthorized',
    description: 'The credential is missing, unknown, expired or revoked. Get a new token once, then retry.',
    details: z.looseObject({ code: z.string().optional().describe('`invalid_token`') }),
  },
  403: {
    name: 'Forbidden',
    description: 'The credential is valid but not allowed to do this. Do not retry.',
    details: z.looseObject({
      required: z.array(z.string()).optional().describe('Scopes, any one of which is sufficient.'),
    }),
  },
  404: {
    name: 'NotFound',
    description: 'The resource does not exist, or the credential may not see it.',
    details: z.looseObject({
      removed_in_version: z.string().optional().describe('The version that removed the operation.'),
    }),
  },
  409: {
    name: 'Conflict',
    description: 'The current state does not allow the request.',
    details: z.looseObject({
      installation: z.unknown().optional().describe('The existing installation.'),
    }),
  },
  410: {
    name: 'Gone',
    description: 'The cursor is older than the feed retention. List again without it and replace your copy.',
    details: z.looseObject({ parameter: z.string().optional() }),
  },
  422: {
    name: 'Unprocessable',
    description: 'The body is well-formed but not valid.',
    details: z.looseObject({ errors: fieldErrors.optional() }),
  },
  429: {
    name: 'RateLimited',
    description: 'A rate limit is exhausted. Wait, then retry. There is no Retry-After header.',
    details: z.object({
      limit: z.int().describe('Requests per period.'),
      period: z.string(),
      retry_after: z.int().describe('Seconds until the window resets.'),
    }),
  },
  500: { name: 'ServerFault', description: 'An internal error. Retry reads with backoff.' },
};

export interface ErrorComponent {
  readonly name: string;
  readonly status: ErrorStatus;
  readonly description: string;
  readonly schema: z.ZodType;
}

function component(status: ErrorStatus, prefix: string, further: readonly string[]): ErrorComponent {
  const { name, description, details } = statuses[status];
  const types = [...errorTypes[status], ...further] as [string, ...string[]];
  const error = z.object({
    type: z.enum(types).describe('Branch on the type, never on the message.'),
    message: z.string().describe('Text for people. May change at any time.'),
    details: (details ?? z.looseObject({})).optional(),
    request_id: z
      .string()
      .optional()
      .describe('Same as the request-id header. May be absent in responses of an edge server.'),
    remediation: z.string().optional().describe('How to resolve the error.'),
  });
  const full = `${prefix}${name}`;
  return { name: full, status, description, schema: z.object({ error }).meta({ id: `${full}Error` }) };
}

const statusList = Object.keys(statuses).map(Number) as readonly ErrorStatus[];
const common = statusList.map((status) => component(status, '', []));
const portal = Object.entries(portalErrorTypes).map(([status, types]) =>
  component(Number(status) as ErrorStatus, 'Portal', types),
);

export const errorComponents: readonly ErrorComponent[] = [...common, ...portal];

/** Returns the envelope with the error types of one status. The portal has additional types. */
export function errorComponent(status: number, inPortal: boolean): ErrorComponent {
  const found =
    (inPortal ? portal.find((own) => own.status === status) : undefined) ??
    common.find((shared) => shared.status === status);
  if (found === undefined) throw new Error(`${status} is not a status of the error envelope`);
  return found;
}
