import { Router } from 'express';
import { companiesBody, noCompany } from '../pages/companies.js';
import { companyBody } from '../pages/company.js';
import { problemBody } from '../pages/problem.js';
import { goneSignal, type PageContext } from './page-context.js';

export function companyRoutes(context: PageContext): Router {
  const router = Router();
  router.get('/companies', async (request, response) => {
    const body = companiesBody(await context.source.companies());
    context.show(request, response, { title: 'Companies', place: '/companies', body });
  });
  router.get('/companies/:source/:company', async (request, response) => {
    const { source, company: named } = request.params;
    const company = named === noCompany ? null : named;
    const seen = await context.source.company(source, company, goneSignal(response));
    if (seen === null) {
      const body = problemBody(
        'No such company',
        'The mirror has neither this company nor an investment in it.',
      );
      context.show(request, response, { title: 'No such company', place: '/companies', body }, 404);
      return;
    }
    const { currency } = request.query;
    const body = companyBody(source, company, seen, typeof currency === 'string' ? currency : '');
    context.show(request, response, {
      title: seen.name ?? company ?? source,
      place: '/companies',
      body,
      scripts: ['charts'],
    });
  });
  return router;
}
