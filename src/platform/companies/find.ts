import { type CompanyRow, findCompany } from '../catalog/rounds.js';
import { type Viewer, viewerOf } from '../catalog/viewer.js';
import { pageVisible } from '../catalog/visibility.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound } from '../http/problem.js';

export interface Visit {
  readonly company: CompanyRow;
  readonly viewer: Viewer;
}

/** Returns the company of the path. Throws a 404 if it does not exist or the viewer may not see its page. */
export function visitPage(exchange: Exchange): Visit {
  const { state } = exchange.services;
  const viewer = viewerOf(state, callerOf(exchange));
  const company = findCompany(state, viewer.realm, exchange.params.id ?? '');
  if (company === undefined || !pageVisible(company, viewer)) throw notFound('The company');
  return { company, viewer };
}
