import { type RequestHandler, Router } from 'express';
import type { Closable } from '../runtime/lifecycle.js';
import { problemBody } from './pages/problem.js';
import { companyRoutes } from './routes/companies.js';
import { identityRoutes } from './routes/identity.js';
import { overviewRoutes } from './routes/overview.js';
import { type DashboardParts, pageContextOf } from './routes/page-context.js';
import { recordRoutes } from './routes/records.js';
import { rosterRoutes } from './routes/roster.js';
import { sqlRoutes } from './routes/sql.js';

export interface Dashboard extends Closable {
  readonly router: Router;
  /** Responds that a page does not exist, with the navigation. */
  readonly lost: RequestHandler;
}

/** Creates the pages for people. Requests that get here are admitted. */
export function createDashboard(parts: DashboardParts): Dashboard {
  const context = pageContextOf(parts);
  const overview = overviewRoutes(context);
  const router = Router();
  router.use(overview.router, companyRoutes(context), rosterRoutes(context), recordRoutes(context));
  router.use(sqlRoutes(context), identityRoutes(context));
  const lost: RequestHandler = (request, response) => {
    const body = problemBody('Not found', 'This page does not exist.');
    context.show(request, response, { title: 'Not found', body }, 404);
  };
  return { router, lost, close: () => overview.close() };
}
