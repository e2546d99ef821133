import type { ErrorStatus, ErrorType } from '../contract/errors.js';

export interface ProblemAbout {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly remediation?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error response of the API. Any step may throw it; `problemAnswer` turns it into the response. */
export class Problem<Status extends ErrorStatus = ErrorStatus> extends Error {
  constructor(
    readonly status: Status,
    readonly type: ErrorType<Status>,
    message: string,
    readonly about: ProblemAbout = {},
  ) {
    super(message);
    this.name = 'Problem';
  }
}

export const notFound = (what = 'The resource'): Problem =>
  new Problem(404, 'not_found', `${what} was not found.`);

export const badParameter = (parameter: string, message: string): Problem =>
  new Problem(400, 'invalid_parameter', message, { details: { parameter } });

export interface FieldError {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export const invalidFields = (errors: readonly FieldError[]): Problem =>
  new Problem(422, 'validation_error', errors.map((error) => error.message).join(' '), {
    details: { errors },
  });
