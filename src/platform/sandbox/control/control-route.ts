import { isIP } from 'node:net';
import type { z } from 'zod';
import type { Operation } from '../../contract/operation.js';
import type { Exchange, Reply } from '../../http/exchange.js';
import { parseJsonBody } from '../../http/json-body.js';
import { Problem } from '../../http/problem.js';
import { controlTag } from '../../http/reference.js';
import { type Route, route } from '../../http/route.js';
import { wording } from '../../http/wording.js';

/**
 * A route of the control API: no credential, limits or version. An invalid body returns a single 400. Requests from
 * browsers are rejected, because any web page could otherwise read the tokens of a sandbox on the same machine.
 */
export function controlRoute<Body extends z.ZodType>(
  method: Operation['method'],
  path: string,
  body: Body | null,
  handler: (exchange: Exchange, body: z.output<Body>) => Reply | Promise<Reply>,
): Route {
  const operation: Operation = {
    id: `${method} ${path}`,
    method,
    path,
    tag: controlTag,
    summary: 'Control of the sandbox',
    scopes: null,
    responses: {},
    errors: [],
  };
  return route(operation, refuseBrowsers, (exchange) =>
    handler(exchange, body === null ? (undefined as z.output<Body>) : parseBody(body, exchange)),
  );
}

export function refuseBrowsers(exchange: Exchange): void {
  if (exchange.headers.origin === undefined && isOwnName(exchange)) return;
  throw new Problem(403, 'forbidden', 'The control API rejects requests from web pages.', {
    remediation:
      'Call it without an Origin header, by IP address, by localhost or by the configured public URL.',
  });
}

/**
 * Guards against DNS rebinding: a page can resolve its own public name to this machine, and its requests then have the
 * same origin and no Origin header. IP addresses and names without a dot cannot be abused this way.
 */
export function isOwnName({ headers, services }: Exchange): boolean {
  const hostname = URL.parse(`http://${headers.host ?? ''}`)?.hostname;
  if (hostname === undefined) return false;
  const known = services.options.publicUrl;
  return (
    isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 ||
    !hostname.includes('.') ||
    hostname.endsWith('.localhost') ||
    (known !== null && hostname === new URL(known).hostname)
  );
}

function parseBody<Body extends z.ZodType>(schema: Body, exchange: Exchange): z.output<Body> {
  const text = exchange.rawBody.toString('utf8');
  const parsed = schema.safeParse(text === '' ? {} : parseJsonBody(text), { error: wording });
  if (parsed.success) return parsed.data;
  const errors = plainIssues(parsed.error.issues).map((issue) => ({
    field: issue.path.join('.'),
    code: issue.code,
    message: issue.message,
  }));
  const message = errors
    .map((error) => `${error.field === '' ? 'body' : error.field}: ${error.message}`)
    .join('; ');
  throw new Problem(400, 'invalid_params', `${message}.`, { details: { errors } });
}

type Issue = z.core.$ZodIssue;

/**
 * Returns the issues, and for a value that fits no form of several those of the nearest form: such an issue itself says only
 * that the input is invalid. A form of another type is the farthest.
 */
function plainIssues(issues: readonly Issue[]): readonly Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
    const forms = issue.errors.map(plainIssues).sort((one, other) => distanceOf(one) - distanceOf(other));
    return (forms[0] ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
  });
}

const distanceOf = (issues: readonly Issue[]): number =>
  issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0)
    ? Number.MAX_SAFE_INTEGER
    : issues.length;
