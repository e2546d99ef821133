/** Result of a request and its status code; each result has a counter. */
export const statusOf = {
  accepted: 202,
  duplicate: 202,
  ignored: 202,
  test: 202,
  not_found: 404,
  wrong_method: 405,
  too_large: 413,
  unsupported_type: 415,
  unsupported_encoding: 415,
  cut_off: 400,
  missing_header: 401,
  malformed_header: 401,
  timestamp_out_of_tolerance: 401,
  signature_mismatch: 401,
  invalid_payload: 400,
  unavailable: 503,
  defect: 500,
} as const;

export type Result = keyof typeof statusOf;

/** Ends a request with its status and an empty body, so a rejected sender learns nothing. */
export class Refusal extends Error {
  constructor(
    readonly result: Result,
    cause?: unknown,
  ) {
    super(result, { cause });
    this.name = 'Refusal';
  }
}
