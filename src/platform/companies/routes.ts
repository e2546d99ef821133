import { catalogRead, publicRead } from '../catalog/routes.js';
import { getCompany, searchCompanies } from '../contract/companies.js';
import { getDisclosures } from '../contract/company-disclosures.js';
import { getPitch } from '../contract/company-pitch.js';
import { getUpdate, listQuestions, listUpdates } from '../contract/company-tabs.js';
import { ok } from '../http/exchange.js';
import { type Route, route } from '../http/route.js';
import { answerDisclosures } from './disclosures.js';
import { visitPage } from './find.js';
import { answerPitch } from './pitch.js';
import { answerQuestions } from './questions.js';
import { companyResource } from './record.js';
import { answerSearch } from './search.js';
import { answerUpdate, answerUpdates } from './updates.js';

export const companyRoutes: readonly Route[] = [
  route(searchCompanies, ...catalogRead, answerSearch),
  route(getCompany, ...publicRead, (exchange) => {
    const { company, viewer } = visitPage(exchange);
    return ok({ data: companyResource(exchange.services, company, viewer, exchange.now) });
  }),
  route(getDisclosures, ...publicRead, answerDisclosures),
  route(getPitch, ...publicRead, answerPitch),
  route(listUpdates, ...publicRead, answerUpdates),
  route(getUpdate, ...publicRead, answerUpdate),
  route(listQuestions, ...publicRead, answerQuestions),
];
