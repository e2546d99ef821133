import * as operations from '../../contract/companies.js';
import { catalogRead, publicRead } from '../catalog/routes.js';
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
  route(operations.searchCompanies, ...catalogRead, answerSearch),
  route(operations.getCompany, ...publicRead, (exchange) => {
    const { company, viewer } = visitPage(exchange);
    return ok({ data: companyResource(exchange.services, company, viewer, exchange.now) });
  }),
  route(operations.getDisclosures, ...publicRead, answerDisclosures),
  route(operations.getPitch, ...publicRead, answerPitch),
  route(operations.listUpdates, ...publicRead, answerUpdates),
  route(operations.getUpdate, ...publicRead, answerUpdate),
  route(operations.listQuestions, ...publicRead, answerQuestions),
];
