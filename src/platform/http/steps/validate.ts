import type { z } from 'zod';
import type { Operation } from '../../contract/operation.js';
import type { Exchange } from '../exchange.js';
import { parseJsonBody } from '../json-body.js';
import { badParameter, invalidFields, type Problem } from '../problem.js';
import { wording } from '../wording.js';

/** Parses query and body with the schemas of the operation. Throws a `Problem` that names the invalid part. */
export function validate(operation: Operation, exchange: Exchange): void {
  if (operation.query !== undefined) {
    const query = queryObject(exchange.query);
    const parsed = operation.query.safeParse(query, { error: wording });
    if (!parsed.success) throw wrongParameter(parsed.error, query);
    exchange.input.query = parsed.data;
  }
  if (operation.body !== undefined) {
    const body = bodyObject(operation, exchange);
    const parsed = operation.body.safeParse(body, { error: wording });
    if (!parsed.success) throw invalidFields(parsed.error.issues.map((issue) => fieldError(issue, body)));
    exchange.input.body = parsed.data;
  }
}

/** Repeated keys become lists; a single value stays a string. `a[]=1`, as some clients write it, equals `a=1`. */
function queryObject(query: URLSearchParams): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const [key, value] of query) {
    const name = key.endsWith('[]') ? key.slice(0, -2) : key;
    const existing = values[name];
    values[name] = existing === undefined ? value : [existing, value].flat();
  }
  return values;
}

/** Returns an empty object for an absent body: clients send POST actions without a body and content type. */
function bodyObject(operation: Operation, exchange: Exchange): unknown {
  if (exchange.rawBody.length === 0) return {};
  const text = exchange.rawBody.toString('utf8');
  if (operation.bodyType === 'form') return Object.fromEntries(new URLSearchParams(text));
  return parseJsonBody(text);
}

function wrongParameter(error: z.ZodError, query: Readonly<Record<string, unknown>>): Problem {
  const issue = error.issues[0];
  const name = String(issue?.path[0] ?? '');
  const why = Array.isArray(query[name]) ? 'it is given more than once' : (issue?.message ?? 'wrong value');
  return badParameter(name, `The parameter ${name} is not valid: ${why}.`);
}

function fieldError(
  issue: z.core.$ZodIssue,
  body: unknown,
): { field: string; code: string; message: string } {
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = [...issue.path, ...unknown].join('.');
  const code = valueAt(body, issue.path) === undefined ? 'required' : 'invalid';
  return { field, code, message: `${field === '' ? 'body' : field}: ${issue.message}.` };
}

const valueAt = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    body,
  );
