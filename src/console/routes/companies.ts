import { Router } from 'express';
import { pastTime } from '../../domain/as-of.js';
import { isFault } from '../../domain/fault.js';
import { companiesBody, noCompany, pastCompaniesBody } from '../pages/companies.js';
import { companyBody, noPastCompany } from '../pages/company.js';
import { problemBody } from '../pages/problem.js';
import { asOfFrom, asOfText, pastOrProblem } from './as-of.js';
import { goneSignal, type PageContext } from './page-context.js';

export function companyRoutes(context: PageContext): Router {
  const { source: mirror, clock } = context;
  const router = Router();
  router.get('/companies', async (request, response) => {
    const now = clock.now();
    const text = asOfText(request);
    const page = { title: 'Companies', place: '/companies' } as const;
    if (text === '')
      return context.show(request, response, { ...page, body: companiesBody(await mirror.companies(), now) });
    const seen = await pastOrProblem(async () => {
      const at = pastTime(text, 'as-of', now);
      return { ...(await mirror.companiesAsOf(at, goneSignal(response))), text, at };
    });
    const body = pastCompaniesBody(text, seen, now);
    context.show(request, response, { ...page, body }, isFault(seen) ? 422 : 200);
  });
  router.get('/companies/:source/:company', async (request, response) => {
    const { source, company: named } = request.params;
    const company = named === noCompany ? null : named;
    const now = clock.now();
    const text = asOfText(request);
    const currency = typeof request.query.currency === 'string' ? request.query.currency : null;
    const gone = goneSignal(response);
    const past = await pastOrProblem(async () => {
      const asOf = asOfFrom(text, now);
      const seen =
        asOf === null
          ? await mirror.company(source, company, gone)
          : await mirror.companyAsOf(source, company, asOf.at, gone);
      return { asOf, seen };
    });
    if (isFault(past)) {
      const body = noPastCompany({ source, company, currency, asOf: null, now }, text, past);
      context.show(request, response, { title: company ?? source, place: '/companies', body }, 422);
      return;
    }
    const { asOf, seen } = past;
    if (seen === null) {
      const body = problemBody(
        'No such company',
        'The mirror has neither this company nor an investment in it.',
      );
      context.show(request, response, { title: 'No such company', place: '/companies', body }, 404);
      return;
    }
    context.show(request, response, {
      title: seen.name ?? company ?? source,
      place: '/companies',
      body: companyBody({ source, company, currency, asOf, now }, seen),
      scripts: ['charts'],
    });
  });
  return router;
}
