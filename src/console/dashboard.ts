import { Router } from 'express';
import type { Closable } from '../runtime/lifecycle.js';
import { companyRoutes } from './routes/companies.js';
import { identityRoutes } from './routes/identity.js';
import { overviewRoutes } from './routes/overview.js';
import { type DashboardParts, deskOf } from './routes/page-context.js';
import { recordRoutes } from './routes/records.js';
import { rosterRoutes } from './routes/roster.js';
import { sqlRoutes } from './routes/sql.js';

export interface Dashboard extends Closable {
  readonly router: Router;
}

/** The pages for people. Whoever gets here has been let in. */
export function createDashboard(parts: DashboardParts): Dashboard {
  const desk = deskOf(parts);
  const overview = overviewRoutes(desk);
  const router = Router();
  router.use(overview.router, companyRoutes(desk), rosterRoutes(desk), recordRoutes(desk));
  router.use(sqlRoutes(desk), identityRoutes(desk));
  return { router, close: () => overview.close() };
}
