import type { Express, RequestHandler } from 'express';
import { isFault } from '../domain/fault.js';
import { isSameSecret } from '../runtime/same-secret.js';
import { metricsText } from './metrics.js';
import type { ConsoleSource, ProblemSeen } from './ports.js';
import type { ProcessMetrics } from './process-metrics.js';

/**
 * What a supervisor may ask without signing in. `/livez`: the process turns, and only this one may restart it.
 * `/readyz`: every source has a complete dataset to read, and the daemon can do its work. `/healthz`: what is wrong; 503
 * when the daemon cannot do its work, with `?strict=1` whenever anything is wrong. What it is about is told only to whom
 * `knows` lets know.
 *
 * "Cannot do its work" is the same for both: the database cannot be read, or a problem of the process is `ill`, which
 * it is while its database takes no writes. That the platform cannot be reached is neither.
 */
export function openProbes(app: Express, source: ConsoleSource, knows: boolean): void {
  app.get('/livez', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/readyz', async (_request, response) => {
    const { sources, problems } = await source.status();
    const waiting = sources.filter(({ readable }) => readable === 0).map((one) => one.source);
    const ready = sources.length > 0 && waiting.length === 0 && !isIll(problems);
    response.status(ready ? 200 : 503).json(knows ? { ready, waiting, problems } : { ready });
  });
  app.get('/healthz', async (request, response) => {
    const { health, sources, problems } = await source.status();
    const reasons = sources
      .filter((one) => one.health !== 'ok')
      .map((one) => ({
        source: one.source,
        health: one.health,
        state: one.state,
        code: one.last_error_code,
      }));
    const bad = isIll(problems) || (request.query.strict === '1' && health !== 'ok');
    response.status(bad ? 503 : 200).json(knows ? { health, reasons, problems } : { health });
  });
}

const isIll = (problems: readonly ProblemSeen[]): boolean =>
  problems.some(({ severity }) => severity === 'ill');

/**
 * For `rosterd status` on this machine: what this process knows, from memory, so that neither a database that is away nor
 * one that is locked keeps the answer back. The key stands in a file that only its owner may read.
 */
export function answerOwn(
  app: Express,
  { key, process }: { readonly key: string; readonly process: string },
  source: Pick<ConsoleSource, 'problems'>,
): void {
  app.get('/daemon.json', (request, response) => {
    const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (isSameSecret(given, key)) response.json({ process, problems: source.problems() });
    else response.status(401).type('text/plain').send('for rosterd status\n');
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
    const seen = await source.status().catch(whileUnreadable);
    const text = await metricsText(seen, source.problems(), await source.counts(), processed, version);
    response.type('text/plain; version=0.0.4').send(text);
  };
  return { status, metrics };
}

/** A mirror that cannot be read is what a scrape is there to tell: see `rosterd_mirror_readable`. */
function whileUnreadable(error: unknown): null {
  if (isFault(error)) return null;
  throw error;
}
