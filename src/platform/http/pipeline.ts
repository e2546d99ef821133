import { latestVersion } from '../../wire/versions.js';
import type { Services } from '../services.js';
import { type Answer, problemAnswer, replyAnswer } from './envelope.js';
import type { Exchange } from './exchange.js';
import { notFound, Problem } from './problem.js';
import { referenceFor } from './reference.js';
import type { Match } from './route.js';
import { versionFromHeader } from './steps/choose-version.js';
import { validate } from './steps/validate.js';

/**
 * Runs one request from the matched route to the response. The order, visible in every feature's route table:
 * request id → version → identify → limits → removed-in-version → scope → access → validate → handler → envelope.
 * A step that throws a `Problem` ends the request. Any other error is a bug: it returns 500 and is logged without its
 * message.
 */
export async function answerTo(match: Match | null, exchange: Exchange): Promise<Answer> {
  try {
    exchange.version = versionFromHeader(header(exchange)) ?? latestVersion;
    if (match === null) throw notFound('This path');
    if (match.route === null) throw methodNotAllowed(exchange.method, match.methods);
    for (const step of match.route.steps) await step(exchange);
    validate(match.route.operation, exchange);
    return replyAnswer(await match.route.handler(exchange));
  } catch (error) {
    if (error instanceof Problem) return problemAnswer(error, exchange.requestId, referenceFor(exchange));
    logCrash(exchange.services, exchange, error);
    const crash = new Problem(500, 'internal_server_error', 'Something went wrong on our side.');
    return problemAnswer(crash, exchange.requestId);
  }
}

function header(exchange: Exchange): string | undefined {
  const value = exchange.headers[exchange.services.options.headers.version.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  const problem = notFound(`${method} on this path`);
  return new Problem(404, 'not_found', problem.message, { headers: { allow: allowed.join(', ') } });
}

function logCrash(services: Services, exchange: Exchange, error: unknown): void {
  services.logger.error(
    {
      component: 'platform',
      method: exchange.method,
      path: exchange.path,
      requestId: exchange.requestId,
      error,
    },
    'request crashed',
  );
}
