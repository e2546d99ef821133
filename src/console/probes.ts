import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { isSameSecret } from '../runtime/same-secret.js';
import { metricsText } from './metrics.js';
import type { ConsoleSource } from './ports.js';
import type { ProcessMetrics } from './process-metrics.js';
import { isIll, promptStatus } from './prompt-status.js';

/**
 * Probes for a supervisor, without sign-in. `/livez`: the process runs; only this probe should cause a restart.
 * `/readyz`: every source of the configuration has a complete dataset, and the daemon can do its work. `/healthz`: the
 * health of the daemon; 503 when it cannot do its work, and with `?strict=1` for any problem. The details are included only
 * when `knows` is true.
 *
 * For both, "cannot do its work" means that the database cannot be read or that a problem of the process is `ill`, such
 * as a database that accepts no writes. An unreachable platform is not such a problem. The message of a failure may
 * name a file or a server, so it is a detail too.
 */
export function openProbes(app: Express, source: ConsoleSource, clock: Clock, knows: boolean): void {
  const status = promptStatus(source, clock);
  app.get('/livez', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/readyz', async (_request, response) => {
    const { sources, counts, problems } = await status();
    const waiting = sources.filter(({ readable }) => readable === 0).map((one) => one.source);
    const ready = counts.sources > 0 && counts.not_ready === 0 && !isIll(problems);
    const details = { waiting, waiting_count: counts.unreadable, problems };
    response.status(ready ? 200 : 503).json(knows ? { ready, ...details } : { ready });
  });
  app.get('/healthz', async (request, response) => {
    const { health, sources, counts, problems } = await status();
    const reasons = sources
      .filter((one) => one.health !== 'ok')
      .map((one) => ({
        source: one.source,
        health: one.health,
        state: one.state,
        code: one.last_error_code,
      }));
    const bad = isIll(problems) || (request.query.strict === '1' && health !== 'ok');
    response
      .status(bad ? 503 : 200)
      .json(knows ? { health, reasons, by_state: counts.by_state, problems } : { health });
  });
  if (!knows) app.use(['/readyz', '/healthz'], codeOnly);
}

const codeOnly: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (isFault(error)) response.status(503).json({ health: 'attention', code: error.code });
  else next(error);
};

/** What identifies this process to `rosterd status`. */
export interface OwnAnswer {
  readonly key: string;
  readonly process: string;
  readonly started_at: string;
}

/**
 * Serves the problems of this process and what its ticks wait for to `rosterd status` on this machine, and its last log
 * lines to `support-bundle`. They come from memory, so an unreachable or locked database does not delay the response. The
 * key is in a file that only its owner can read.
 */
export function answerOwn(
  app: Express,
  { key, process, started_at }: OwnAnswer,
  source: Pick<ConsoleSource, 'problems' | 'waits' | 'spacings' | 'log'>,
): void {
  app.get('/daemon.json', (request, response) => {
    const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const { query } = request;
    const log = query.log === '1' ? { log: source.log() } : {};
    const spacings = () => source.spacings(typeof query.source === 'string' ? query.source : null);
    if (isSameSecret(given, key))
      response.json({
        process,
        started_at,
        problems: source.problems(),
        waits: source.waits(),
        spacings: spacings(),
        ...log,
      });
    else response.status(401).type('text/plain').send('for rosterd status\n');
  });
}

/** Returns the handlers for authenticated programs: the whole status, and metrics. */
export function programsOf(
  source: ConsoleSource,
  processed: ProcessMetrics,
  metricsSources: number,
  version: string,
  clock: Clock,
): { readonly status: RequestHandler; readonly metrics: RequestHandler } {
  const status: RequestHandler = async (_request, response) => {
    response.json(await source.status());
  };
  const prompt = promptStatus(source, clock);
  const metrics: RequestHandler = async (_request, response) => {
    const seen = await prompt(metricsSources).catch(whileUnreadable);
    const counts = await source.counts(seen?.sources.map((one) => one.source) ?? []);
    const text = await metricsText(seen, source.problems(), counts, processed, version);
    response.type('text/plain; version=0.0.4').send(text);
  };
  return { status, metrics };
}

/** An unreadable mirror does not fail the scrape, which reports it in `rosterd_mirror_readable`. */
function whileUnreadable(error: unknown): null {
  if (isFault(error)) return null;
  throw error;
}
