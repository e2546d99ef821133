import { defined } from '../domain/defined.js';
import { Fault, type FaultCode } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import type { HeaderNames } from '../wire/headers.js';
import { paths } from '../wire/paths.js';
import { versionRefusal } from '../wire/versions.js';
import type { Answer, HeadersRead } from './fetch/fetch.js';
import { rateLimitWaitMillis, statedWaitMillis } from './rate-limit-wait.js';

/** The readable parts of the platform's error body. */
export interface Problem {
  readonly type: string | null;
  /** Whether it has the form of OAuth errors, whose `invalid_request` is not about a version. */
  readonly isFlat: boolean;
  readonly message: string | null;
  readonly requestId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Returns the `Fault` for an error response, or undefined for a success. This is the only place that maps a status to
 * a fault. It looks at status and `error.type`, never at a message, and accepts bodies that are not JSON (502, 503)
 * and gateway responses without a request id.
 */
export function judgeResponse(
  what: string,
  answer: Answer,
  names: HeaderNames,
  now: number,
): Fault | undefined {
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  const problem = readProblem(answer, names);
  const code = codeOf(status, problem.type);
  const quoted = code === 'refused' || code === 'forbidden' ? repeatable(what, status, problem) : null;
  const waitUnstated = code === 'rate_limited' && (statedWaitMillis(answer, now) ?? 0) <= 0;
  const hint = waitUnstated ? hintOfBare(status) : hintOf(code, status, problem);
  return new Fault(code, sentence(what, status, problem, quoted), {
    status,
    details: problem.details,
    ...(problem.type === null ? {} : { type: problem.type }),
    ...(problem.requestId === null ? {} : { requestId: problem.requestId }),
    ...(code === 'rate_limited'
      ? { retryAt: instantFromMillis(now + rateLimitWaitMillis(answer, now)) }
      : {}),
    ...(waitUnstated ? { waitUnstated } : {}),
    ...defined({ hint }),
  });
}

/** The address of the API may have a path, such as `/api/v2`, so other segments may come first. */
const peoplesRecords = new RegExp(`${paths.investments}(?:/|$)`);

/**
 * Returns the platform's message if it is safe to log. On paths that serve people's records it may quote a person, so
 * only fixed text is returned.
 */
function repeatable(what: string, status: number, { type, message }: Problem): string | null {
  if (!peoplesRecords.test(what)) return message;
  return refusesVersion(status, type) ? 'it does not support the API version' : null;
}

/** Returns whether the platform does not know the requested API version, or has retired it. */
export function refusesVersion(status: number | undefined, type: string | null | undefined): boolean {
  return status === versionRefusal.status && type === versionRefusal.type;
}

function codeOf(status: number, type: string | null): FaultCode {
  if (status === 429) return 'rate_limited';
  // 408 means the server gave up on the connection, not on the request.
  if (status >= 500 || status === 408) return 'platform_error';
  // The API gives each refusal a type. This one is of something in between, such as a gateway whose target restarts, and
  // passes: the request is repeated. No source waits for a person, no token counts as revoked and nothing is listed again.
  if (status >= 400 && type === null) return 'contract_broken';
  if (status === 410) return 'cursor_expired';
  if (status === 401) return type === 'invalid_grant' ? 'reauthorize' : 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status >= 400) return type === 'invalid_grant' ? 'reauthorize' : 'refused';
  return 'contract_broken';
}

/** What helps if the platform itself answered and something in between removed its reason. */
const nextOfBare: Readonly<Record<number, string>> = {
  401: 'if this goes on, replace the token, or run `rosterd connect`',
  410: 'if this goes on, `rosterd sync --resync` lists everything again',
  429: 'if this goes on, it allows fewer requests than the platform',
};

const hintOfBare = (status: number): string =>
  `a proxy or a gateway may have answered: ${nextOfBare[status] ?? 'is `platform.baseUrl` the address of the API?'}`;

function hintOf(code: FaultCode, status: number, { type, isFlat }: Problem): string | undefined {
  if (type === 'invalid_client')
    return 'compare clientId and clientSecret with the keys of the application; only a public client has no secret';
  if (code === 'unauthorized') return 'replace the token, or run `rosterd connect`';
  if (code === 'reauthorize') return 'run `rosterd connect` to sign in again';
  if (code === 'contract_broken' && status >= 400) return hintOfBare(status);
  if (type === 'insufficient_scope') return 'the token lacks a scope: `rosterd doctor` shows which it has';
  if (!isFlat && refusesVersion(status, type)) return 'set platform.version to one the platform serves';
  if (code === 'forbidden') return '`rosterd doctor` shows what the token may see';
  return undefined;
}

function sentence(what: string, status: number, problem: Problem, quoted: string | null): string {
  const isBare = status >= 400 && status < 500 && problem.type === null;
  const type = isBare ? ' without a readable reason' : problem.type === null ? '' : ` ${problem.type}`;
  const id = problem.requestId === null ? '' : ` (request ${problem.requestId})`;
  return `${what} answered ${status}${type}${quoted === null ? '' : `: ${quoted}`}${id}`;
}

function readProblem(answer: Answer, names: HeaderNames): Problem {
  const body = record(parsed(answer.body));
  // The token endpoint uses the flat OAuth form: `error` is the type itself.
  const isFlat = typeof body.error === 'string';
  const error = isFlat ? { type: body.error, message: body.error_description } : record(body.error);
  return {
    type: word(error.type),
    isFlat,
    message: typeof error.message === 'string' ? printable(error.message) : null,
    requestId: requestIdOf(answer.headers, names) ?? word(error.request_id) ?? word(body.request_id),
    details: record(error.details),
  };
}

function requestIdOf(headers: HeadersRead, names: HeaderNames): string | null {
  return word(headers.get(names.requestId));
}

/** 200 characters are enough to name the problem; a longer text is more likely to quote personal data. */
const messageLengthMax = 200;

function printable(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim();
  return plain.length <= messageLengthMax ? plain : `${plain.slice(0, messageLengthMax - 1)}…`;
}

/** Types and request ids are printed and logged, so only values of that shape are accepted. */
function word(value: unknown): string | null {
  return typeof value === 'string' && /^[A-Za-z0-9_.:-]{1,100}$/.test(value) ? value : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
