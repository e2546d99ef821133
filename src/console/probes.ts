import type { Express, RequestHandler } from 'express';
import { metricsText } from './metrics.js';
import type { ConsoleSource } from './ports.js';
import type { ProcessMetrics } from './process-metrics.js';

/**
 * What a supervisor may ask without signing in: `/livez`, the process turns, and only this one may restart it;
 * `/readyz`, every source has a complete dataset to read; `/healthz`, 200 even when something is wrong, 503 for
 * `?strict=1`. Which source it is about is told only to whom `knows` lets know.
 */
export function openProbes(app: Express, source: ConsoleSource, knows: boolean): void {
  app.get('/livez', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/readyz', async (_request, response) => {
    const { sources } = await source.status();
    const waiting = sources.filter(({ readable }) => readable === 0).map((one) => one.source);
    const ready = sources.length > 0 && waiting.length === 0;
    response.status(ready ? 200 : 503).json(knows ? { ready, waiting } : { ready });
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
    response
      .status(request.query.strict === '1' && health !== 'ok' ? 503 : 200)
      .json(knows ? { health, reasons } : { health });
  });
}

/** For programs that may know everything: the whole status, and metrics. */
export function programsOf(
  source: ConsoleSource,
  processed: ProcessMetrics,
  version: string,
): { readonly status: RequestHandler; readonly metrics: RequestHandler } {
  const status: RequestHandler = async (_request, response) => {
    response.json(await source.status());
  };
  const metrics: RequestHandler = async (_request, response) => {
    const text = await metricsText(await source.status(), await source.counts(), processed, version);
    response.type('text/plain; version=0.0.4').send(text);
  };
  return { status, metrics };
}
