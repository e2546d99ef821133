import { type RequestHandler, Router } from 'express';
import type { Closable } from '../runtime/lifecycle.js';
import { problemBody } from './pages/problem.js';
import { actionRoutes } from './routes/actions.js';
import { companyRoutes } from './routes/companies.js';
import { identityRoutes } from './routes/identity.js';
import { operationsRoutes } from './routes/operations.js';
import { overviewRoutes } from './routes/overview.js';
import { type DashboardParts, type PageContext, pageContextOf } from './routes/page-context.js';
import { recordRoutes } from './routes/records.js';
import { rosterRoutes } from './routes/roster.js';
import { sourceRoutes } from './routes/sources.js';
import { sqlRoutes } from './routes/sql.js';

export interface Dashboard extends Closable {
  readonly router: Router;
  /** Responds that a page does not exist, with the navigation. */
  readonly lost: RequestHandler;
  /** Sends a page in the layout of the dashboard, with the navigation. */
  readonly show: PageContext['show'];
}

/** Creates the pages for people. Requests that get here are admitted. */
export function createDashboard(parts: DashboardParts): Dashboard {
  const context = pageContextOf(parts);
  const overview = overviewRoutes(context);
  const operations = operationsRoutes(context);
  const router = Router();
  router.use(
    overview.router,
    operations.router,
    companyRoutes(context),
    rosterRoutes(context),
    recordRoutes(context),
    sourceRoutes(context),
  );
  router.use(sqlRoutes(context), identityRoutes(context), actionRoutes(context));
  const lost: RequestHandler = (request, response) => {
    const body = problemBody('Not found', 'This page does not exist.');
    context.show(request, response, { title: 'Not found', body }, 404);
  };
  const close = async () => {
    await overview.close();
    await operations.close();
  };
  return { router, lost, show: context.show, close };
}
