import { createServer } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { ConnectionTable } from '../runtime/connection-table.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, keptAliveMillis, listen } from '../runtime/listening.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { serveAsset } from './assets.js';
import { createDashboard, type Dashboard } from './dashboard.js';
import { admit, isAdmitted } from './guard/admit.js';
import { Authenticator, type ConsoleAuth } from './guard/authenticator.js';
import { safeHeaders } from './guard/headers.js';
import { hostCheck, isLoopbackHost } from './guard/hosts.js';
import { Refusals } from './guard/refusals.js';
import { Sessions } from './guard/sessions.js';
import { problemBody } from './pages/problem.js';
import { pageText } from './parts/layout.js';
import type { DashboardSource } from './ports/dashboard.js';
import type { Operations } from './ports/operations.js';
import type { ConsoleSource, ProblemSeen } from './ports.js';
import { answerOwn, type OwnAnswer, openProbes, programsOf } from './probes.js';
import type { ProcessMetrics } from './process-metrics.js';
import { type SignInParts, signInPages, signOut } from './sign-in.js';

export interface ConsoleParts {
  readonly source: ConsoleSource;
  /** The key for requests of `rosterd status` on this machine; null to accept none. */
  readonly own?: OwnAnswer | null;
  readonly dashboard: DashboardSource;
  readonly operations: Operations;
  readonly processed: ProcessMetrics;
  /** Sources with metrics of their own; the worst of many. */
  readonly metricsSources: number;
  /** Null admits every request: only for a listener that this machine alone can reach. */
  readonly auth: ConsoleAuth | null;
  /** Host names of a proxy in front, accepted in addition to addresses. */
  readonly hosts: readonly string[];
  /** The address to listen on. */
  readonly host: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly version: string;
}

export interface Console extends Closable {
  listen(port: number): Promise<{ readonly host: string; readonly port: number }>;
  /** Makes the next comparison read the sign-in's secret again. */
  rereadSecrets(): void;
}

const closeMillisMax = 2_000;

/**
 * Limits the connections of unauthenticated clients, so that they cannot exhaust the file descriptors and the memory
 * that the receiver needs. Every open dashboard page keeps one connection. Behind a proxy all clients share one
 * address, so there is no limit per address.
 */
const connectionLimits = {
  connections: 512,
  perAddress: 512,
  bytes: Number.POSITIVE_INFINITY,
  keepsStrangers: true,
};

/** Creates the HTTP server for operators and analysts, separate from the receiver that faces the internet. */
export function createConsole(parts: ConsoleParts): Console {
  const { clock, logger, random, version, auth, operations } = parts;
  const sessions = new Sessions(clock, random);
  const refusals = new Refusals(clock, logger, () => parts.processed.credentialRefused());
  const authenticator = auth === null ? null : new Authenticator({ auth, refusals, clock, random, logger });
  const dashboard = createDashboard({
    source: parts.dashboard,
    operations,
    sessions,
    clock,
    logger,
    version,
  });
  const programs = programsOf(parts.source, parts.processed, parts.metricsSources, version, clock);
  const connections = new ConnectionTable(connectionLimits);
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', false).set('query parser', 'simple');
  // Ordered from the cheapest check to the most expensive. Routes before `admit` need no sign-in.
  app.use(knownHost(hostCheck(!isLoopbackHost(parts.host), parts.hosts)));
  app.use(safeHeaders);
  openProbes(app, parts.source, clock, authenticator === null);
  if (parts.own != null) answerOwn(app, parts.own, parts.source);
  app.get('/assets/:name', serveAsset);
  const audit: SignInParts['audit'] = (actor, action) =>
    operations
      .audit({ actor, action, outcome: 'done' })
      .catch((error: unknown) => logger.error({ error }, 'a sign-in could not be written to the audit log'));
  if (authenticator?.takesTokens === true)
    app.use(signInPages({ authenticator, sessions, logger, version, audit }));
  app.use(admit({ sessions, authenticator }));
  app.use(((request, _response, next) => {
    connections.prove(request);
    next();
  }) satisfies RequestHandler);
  app.get('/status.json', programs.status);
  app.get('/metrics', programs.metrics);
  app.use(signOut(sessions, audit));
  app.use(dashboard.router);
  app.use(((request, response, next) => {
    if (request.accepts(['text', 'html']) === 'html') return dashboard.lost(request, response, next);
    response.status(404).type('text/plain').send('not found\n');
  }) satisfies RequestHandler);
  const problems = () => (authenticator === null ? parts.source.problems() : undefined);
  app.use(failed(logger, version, dashboard.show, problems));
  const server = createServer({
    requestTimeout: 10_000,
    headersTimeout: 5_000,
    keepAliveTimeout: keptAliveMillis,
  });
  connections.serve(server, app);
  return {
    listen: (port) => listen(server, port, parts.host),
    rereadSecrets: () => authenticator?.reread(),
    close: async () => {
      refusals.close();
      await dashboard.close();
      connections.closeSilent();
      await closeServer(server, clock, closeMillisMax);
    },
  };
}

const knownHost =
  (known: (host: string | undefined) => boolean): RequestHandler =>
  (request, response, next) => {
    if (known(request.headers.host)) return next();
    response
      .status(421)
      .type('text/plain')
      .send('unknown host: use the address this console listens on, or add the host to console.hosts\n');
  };

const bareFrame = (version: string) => ({
  mirrorOf: 'a platform',
  csrf: null,
  actor: null,
  signedIn: false,
  version,
});

/** Responds to programs with the fault code and to people with a sentence. Hides errors that are not a `Fault`. */
function failed(
  logger: Logger,
  version: string,
  show: Dashboard['show'],
  problems: () => readonly ProblemSeen[] | undefined,
): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const status = statusOf(error);
    if (!isFault(error) && status === 503) logger.error({ error }, 'the console failed to answer a request');
    if (response.headersSent) {
      // A truncated file must not look complete.
      response.destroy();
      return;
    }
    const fault = isFault(error) ? error : status < 500 ? notValid(status) : null;
    const known = fault === null ? { code: 'internal' } : { code: fault.code, message: fault.message };
    if (request.accepts(['json', 'html']) === 'json') {
      response.status(status).json({ health: 'attention', ...known, problems: problems() });
      return;
    }
    const why = fault?.message ?? 'The console failed to answer this request. See the log for details.';
    const body = problemBody('That did not work', why, fault?.about.hint);
    const page = { title: 'That did not work', body };
    if (isAdmitted(response)) return show(request, response, page, status);
    response
      .status(status)
      .type('html')
      .send(pageText(bareFrame(version), page));
  };
}

/** A mistake of the client, which is not logged. */
const notValid = (status: number): Fault =>
  status === 413
    ? new Fault('usage', 'the form is too large', { hint: 'A statement may have about 20,000 characters.' })
    : new Fault('usage', `the address or the form of this request is not valid (${status})`);

/** Returns the status of a client error, such as a body that is too long or not a form, and 503 otherwise. */
function statusOf(error: unknown): number {
  const status =
    typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 503;
  return !isFault(error) && status >= 400 && status < 500 ? status : 503;
}
