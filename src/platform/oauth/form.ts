import type { Exchange, Handler, Reply } from '../http/exchange.js';
import { referenceFor } from '../http/reference.js';
import type { OAuthErrorCode } from './outcome.js';

/** Thrown only outside transactions. Inside a transaction a refusal is a return value. */
class OAuthRefusal extends Error {
  constructor(
    readonly error: OAuthErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export const refuse = (error: OAuthErrorCode, why: string): never => {
  throw new OAuthRefusal(error, why);
};

/** Converts errors to the format of RFC 6749 §5.2, which the token endpoint uses instead of the error envelope. */
export function flat(handler: Handler): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      if (error instanceof OAuthRefusal) return flatError(error.error, error.message, referenceFor(exchange));
      throw error;
    }
  };
}

function flatError(error: OAuthErrorCode, description: string, reference: string | null): Reply {
  return {
    status: error === 'invalid_client' ? 401 : 400,
    body: { error, error_description: description, ...(reference === null ? {} : { error_uri: reference }) },
    headers: { pragma: 'no-cache' },
  };
}

/** Parses a form-encoded body. Throws for other types and repeated parameters (RFC 6749 §3.2). Empty values are absent. */
export function formOf(exchange: Exchange): ReadonlyMap<string, string> {
  const type = (exchange.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    return refuse('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.');
  }
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(exchange.rawBody.toString('utf8'))) {
    if (form.has(name))
      return refuse('invalid_request', `The parameter ${name.slice(0, 40)} is given twice.`);
    form.set(name, value);
  }
  for (const [name, value] of form) if (value === '') form.delete(name);
  return form;
}

export function needed(form: ReadonlyMap<string, string>, name: string): string {
  return form.get(name) ?? refuse('invalid_request', `The parameter ${name} is missing.`);
}
