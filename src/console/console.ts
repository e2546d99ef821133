import { createServer } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, listen } from '../runtime/listening.js';
import type { Logger } from '../runtime/logger.js';
import { metricsText } from './metrics.js';
import type { ConsoleSource } from './ports.js';

export interface ConsoleParts {
  readonly source: ConsoleSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

export interface Console extends Closable {
  listen(port: number, host: string): Promise<{ readonly host: string; readonly port: number }>;
}

const closeMillisMax = 2_000;

/**
 * The operators' listener, apart from the one that faces the internet. Three answers with three meanings: `/livez`,
 * the process turns, and only this one may restart it; `/readyz`, every source has a complete dataset to read;
 * `/healthz`, 200 with reasons even when something is wrong, 503 for `?strict=1`.
 */
export function createConsole(parts: ConsoleParts): Console {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, appFor(parts));
  return {
    listen: (port, host) => listen(server, port, host),
    close: () => closeServer(server, parts.clock, closeMillisMax),
  };
}

function appFor({ source, logger, version }: ConsoleParts): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', false);
  app.use(localOnly);
  app.get('/livez', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/readyz', async (_request, response) => {
    const { sources } = await source.status();
    const waiting = sources.filter(({ readable }) => readable === 0).map((one) => one.source);
    const ready = sources.length > 0 && waiting.length === 0;
    response.status(ready ? 200 : 503).json({ ready, waiting });
  });
  app.get('/healthz', async (request, response) => {
    const { health, sources } = await source.status();
    const reasons = sources
      .filter((one) => one.health !== 'ok')
      .map((one) => ({
        source: one.source,
        health: one.health,
        state: one.state,
        code: one.last_error_code,
      }));
    response.status(request.query.strict === '1' && health !== 'ok' ? 503 : 200).json({ health, reasons });
  });
  app.get('/status.json', async (_request, response) => {
    response.json(await source.status());
  });
  app.get('/metrics', async (_request, response) => {
    response
      .type('text/plain; version=0.0.4')
      .send(await metricsText(await source.status(), source.counts(), version));
  });
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('not found\n');
  });
  const failed: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    if (!isFault(error)) logger.error({ error }, 'the console could not answer');
    const known = isFault(error) ? { code: error.code, message: error.message } : { code: 'internal' };
    response.status(503).json({ health: 'attention', ...known });
  };
  app.use(failed);
  return app;
}

/** A page elsewhere may point a name of its own at 127.0.0.1 and ask through somebody's browser; its Host gives it away. */
const localOnly: RequestHandler = (request, response, next) => {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host)) return next();
  response.status(421).type('text/plain').send('ask by the address this console listens on\n');
};
