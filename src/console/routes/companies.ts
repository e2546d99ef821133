import { Router } from 'express';
import { companiesBody, noCompany } from '../pages/companies.js';
import { companyBody } from '../pages/company.js';
import { problemBody } from '../pages/problem.js';
import type { Desk } from './page-context.js';

export function companyRoutes(desk: Desk): Router {
  const router = Router();
  router.get('/companies', async (request, response) => {
    const body = companiesBody(await desk.source.companies());
    desk.show(request, response, { title: 'Companies', place: '/companies', body });
  });
  router.get('/companies/:source/:company', async (request, response) => {
    const { source, company: named } = request.params;
    const company = named === noCompany ? null : named;
    const seen = await desk.source.company(source, company);
    if (seen === null) {
      const body = problemBody('Nothing of that company', 'The mirror holds no investment in it.');
      desk.show(request, response, { title: 'Nothing of that company', place: '/companies', body }, 404);
      return;
    }
    const { currency } = request.query;
    const body = companyBody(source, company, seen, typeof currency === 'string' ? currency : '');
    desk.show(request, response, {
      title: company ?? source,
      place: '/companies',
      ...{ body, scripts: ['charts'] },
    });
  });
  return router;
}
