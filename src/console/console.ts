import { createServer } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { ConnectionTable } from '../runtime/connection-table.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, listen } from '../runtime/listening.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { serveAsset } from './assets.js';
import { createDashboard } from './dashboard.js';
import { admit } from './guard/admit.js';
import { type ConsoleAuth, Door } from './guard/authenticator.js';
import { safeHeaders } from './guard/headers.js';
import { hostCheck, isLoopbackHost } from './guard/hosts.js';
import { Refusals } from './guard/refusals.js';
import { Sessions } from './guard/sessions.js';
import { problemBody } from './pages/problem.js';
import { pageText } from './parts/layout.js';
import type { DashboardSource } from './ports/dashboard.js';
import type { ConsoleSource, ProblemSeen } from './ports.js';
import { answerOwn, openProbes, programsOf } from './probes.js';
import type { ProcessMetrics } from './process-metrics.js';
import { signInPages, signOut } from './sign-in.js';

export interface ConsoleParts {
  readonly source: ConsoleSource;
  /** How `rosterd status` on this machine asks; null where nobody is to. */
  readonly own?: { readonly key: string; readonly process: string } | null;
  readonly dashboard: DashboardSource;
  readonly processed: ProcessMetrics;
  /** Null lets everybody in who reaches the listener: for one that only this machine reaches. */
  readonly auth: ConsoleAuth | null;
  /** Names, beside addresses, under which a proxy in front hands requests on. */
  readonly hosts: readonly string[];
  /** The address it will listen on. */
  readonly host: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly version: string;
}

export interface Console extends Closable {
  listen(port: number): Promise<{ readonly host: string; readonly port: number }>;
  /** Reads the sign-in's secret again before it is next compared. */
  rereadSecrets(): void;
}

const closeMillisMax = 2_000;

/**
 * Strangers that hold connections open use up neither the descriptors nor the memory of the daemon, whose receiver
 * needs them. Every open page of the dashboard keeps one. Behind a proxy all have one address, so there is no share.
 */
const connectionLimits = {
  ...{ connections: 512, perAddress: 512, bytes: Number.POSITIVE_INFINITY },
  keepsStrangers: true,
};

/** The operators' and analysts' listener, apart from the one that faces the internet. */
export function createConsole(parts: ConsoleParts): Console {
  const { clock, logger, random, version, auth } = parts;
  const sessions = new Sessions(clock, random);
  const refusals = new Refusals(clock, logger, () => parts.processed.credentialRefused());
  const door = auth === null ? null : new Door({ auth, refusals, clock, random, logger });
  const dashboard = createDashboard({ source: parts.dashboard, sessions, clock, logger, version });
  const programs = programsOf(parts.source, parts.processed, version);
  const connections = new ConnectionTable(connectionLimits);
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', false).set('query parser', 'simple');
  // From the cheapest check to the dearest; what stands above `admit` is for everybody.
  app.use(knownHost(hostCheck(!isLoopbackHost(parts.host), parts.hosts)));
  app.use(safeHeaders);
  openProbes(app, parts.source, door === null);
  if (parts.own != null) answerOwn(app, parts.own, parts.source);
  app.get('/assets/:name', serveAsset);
  if (door?.kind === 'token') app.use(signInPages({ door, sessions, logger, version }));
  app.use(admit({ sessions, door }));
  app.use(((request, _response, next) => {
    connections.prove(request);
    next();
  }) satisfies RequestHandler);
  app.get('/status.json', programs.status);
  app.get('/metrics', programs.metrics);
  app.use(signOut(sessions));
  app.use(dashboard.router);
  app.use(((request, response) => {
    response.status(404);
    if (request.accepts(['text', 'html']) === 'html') response.type('html').send(lostPage(version));
    else response.type('text/plain').send('not found\n');
  }) satisfies RequestHandler);
  app.use(failed(logger, version, () => (door === null ? parts.source.problems() : undefined)));
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 });
  connections.serve(server, app);
  return {
    listen: (port) => listen(server, port, parts.host),
    rereadSecrets: () => door?.reread(),
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
      .send('ask by the address this console listens on; console.hosts names others\n');
  };

const bareFrame = (version: string) => ({ mirrorOf: 'a platform', csrf: null, signedIn: false, version });

const lostPage = (version: string): string =>
  pageText(bareFrame(version), {
    title: 'Not found',
    body: problemBody('Not found', 'There is no such page here.', 'The overview is at the top left.'),
  });

/** Programs get the code, people a sentence. What was thrown and is no `Fault` says nothing to either. */
function failed(
  logger: Logger,
  version: string,
  problems: () => readonly ProblemSeen[] | undefined,
): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const status = statusOf(error);
    if (!isFault(error) && status === 503) logger.error({ error }, 'the console could not answer');
    if (response.headersSent) {
      // A file half sent must not look whole.
      response.destroy();
      return;
    }
    response.status(status);
    const known = isFault(error) ? { code: error.code, message: error.message } : { code: 'internal' };
    if (request.accepts(['json', 'html']) === 'json') {
      response.json({ health: 'attention', ...known, problems: problems() });
      return;
    }
    const why = isFault(error) ? error.message : 'The console could not answer. The log says more.';
    const body = problemBody('That did not work', why, isFault(error) ? error.about.hint : undefined);
    response.type('html').send(pageText(bareFrame(version), { title: 'That did not work', body }));
  };
}

/** A body that is too long or no form is the asker's doing. */
function statusOf(error: unknown): number {
  const status =
    typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 503;
  return !isFault(error) && status >= 400 && status < 500 ? status : 503;
}
