/** Every `error.type` the API may return, by status. Clients branch on the type, never on the message. */
export const errorTypes = {
  400: ['bad_request', 'invalid_params', 'invalid_parameter', 'invalid_request'],
  401: ['unauthorized'],
  403: [
    'insufficient_scope',
    'forbidden',
    'forbidden_role',
    'feature_disabled',
    'manage_endpoints_on_live_api',
    'bound_endpoint',
    'bound_endpoints_not_enabled',
    'app_credentials_required',
  ],
  404: ['not_found', 'no_disclosures'],
  409: ['conflict', 'idempotency_conflict', 'already_installed', 'session_conflict'],
  410: ['gone'],
  422: [
    'validation_error',
    'use_intents',
    'idempotency_conflict',
    'unprocessable_entity',
    'offering_mismatch',
    'session_not_cancelable',
    'no_grantable_scopes',
    'attribution_terms_required',
  ],
  429: ['rate_limit_exceeded'],
  500: ['internal_server_error'],
} as const;

/** Returned only by the operations that edit an application in the developer portal. */
export const portalErrorTypes = { 409: ['scope_change_blocked'], 422: ['invalid_scopes'] } as const;

export type ErrorStatus = keyof typeof errorTypes;
export type ErrorType<Status extends ErrorStatus = ErrorStatus> =
  | (typeof errorTypes)[Status][number]
  | (Status extends keyof typeof portalErrorTypes ? (typeof portalErrorTypes)[Status][number] : never);
