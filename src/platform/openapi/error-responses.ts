import { z } from 'zod';
import { type ErrorStatus, errorTypes, portalErrorTypes } from '../contract/errors.js';

interface StatusWords {
  /** Names the component. */
  readonly name: string;
  readonly description: string;
  readonly details?: z.ZodType;
}

const fieldErrors = z
  .array(z.object({ field: z.string(), code: z.string(), message: z.string() }))
  .describe('Every field that is wrong, with its path.');

/** `details` says what a program needs to react; fields beside the named ones may come. */
const statuses: Readonly<Record<ErrorStatus, StatusWords>> = {
  400: {
    name: 'BadRequest',
    description: 'The request cannot be read: a bad parameter, broken JSON, an unknown version.',
    details: z.looseObject({
      parameter: z.string().optional().describe('The query parameter that is wrong.'),
      valid_versions: z.array(z.string()).optional(),
      removed_in_version: z.string().optional().describe('The action existed before this version.'),
    }),
  },
  401: {
    name: 'Unauthorized',
    description:
      'No credential, or one that is unknown, expired or revoked. Refresh or mint once, then repeat.',
    details: z.looseObject({ code: z.string().optional().describe('`invalid_token`') }),
  },
  403: {
    name: 'Forbidden',
    description: 'The credential is good and does not reach this. Repeating does not help.',
    details: z.looseObject({
      required: z.array(z.string()).optional().describe('Scopes, any one of which is needed.'),
    }),
  },
  404: {
    name: 'NotFound',
    description: 'It does not exist, or this credential may not know that it does.',
    details: z.looseObject({
      removed_in_version: z.string().optional().describe('The operation existed before this version.'),
    }),
  },
  409: {
    name: 'Conflict',
    description: 'The present state does not allow it.',
    details: z.looseObject({
      installation: z.unknown().optional().describe('The installation that exists already.'),
    }),
  },
  410: {
    name: 'Gone',
    description: 'The cursor is older than the feed. List again without it and replace what you hold.',
    details: z.looseObject({ parameter: z.string().optional() }),
  },
  422: {
    name: 'Unprocessable',
    description: 'The body was read and cannot be accepted.',
    details: z.looseObject({ errors: fieldErrors.optional() }),
  },
  429: {
    name: 'RateLimited',
    description:
      'A limit is used up. Wait, then send the same request again. There is no Retry-After header.',
    details: z.object({
      limit: z.int().describe('Requests per period.'),
      period: z.string(),
      retry_after: z.int().describe('Seconds until the window ends.'),
    }),
  },
  500: { name: 'ServerFault', description: 'A fault of the platform. Repeat reads with backoff.' },
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
    type: z.enum(types).describe('Switch on this, never on the message.'),
    message: z.string().describe('For people; its words may change.'),
    details: (details ?? z.looseObject({})).optional(),
    request_id: z.string().optional().describe('As in the request-id header. An edge may leave it out.'),
    remediation: z.string().optional().describe('What to do about it.'),
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

/** The envelope with the types of one status; the portal has some more of its own. */
export function errorComponent(status: number, inPortal: boolean): ErrorComponent {
  const found =
    (inPortal ? portal.find((own) => own.status === status) : undefined) ??
    common.find((shared) => shared.status === status);
  if (found === undefined) throw new Error(`${status} is not a status of the error envelope`);
  return found;
}
