import type { HeaderNames } from '../../wire/headers.js';
import { latestVersion } from '../../wire/versions.js';
import type { Reply } from './exchange.js';
import type { Problem } from './problem.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Builds every error response, so that all errors have the same format. `reference` is a page about the request. */
export function problemAnswer(problem: Problem, requestId: string, reference: string | null = null): Answer {
  const { details, headers = {} } = problem.about;
  const advice = [problem.about.remediation, reference === null ? undefined : `Reference: ${reference}`];
  const remediation = advice.filter((text) => text !== undefined).join(' ') || undefined;
  const error = { type: problem.type, message: problem.message, details, request_id: requestId, remediation };
  return {
    status: problem.status,
    headers: { 'content-type': json, ...headers },
    body: JSON.stringify({ error }),
  };
}

export function replyAnswer(reply: Reply): Answer {
  const text = typeof reply.body === 'string';
  return {
    status: reply.status,
    headers: { ...(text || reply.body === undefined ? {} : { 'content-type': json }), ...reply.headers },
    body: text ? (reply.body as string) : reply.body === undefined ? '' : JSON.stringify(reply.body),
  };
}

const json = 'application/json; charset=utf-8';

/** Returns the headers sent with every response, including errors and unknown paths. */
export function commonHeaders(
  names: HeaderNames,
  requestId: string,
  version: string,
): Record<string, string> {
  return {
    [names.requestId]: requestId,
    [names.version]: version,
    [names.versionLatest]: latestVersion,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}
