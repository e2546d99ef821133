import { type CompanyRow, findCompany } from '../catalog/rounds.js';
import { type Viewer, viewerOf } from '../catalog/viewer.js';
import { pageVisible } from '../catalog/visibility.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound } from '../http/problem.js';

export interface Visit {
  readonly company: CompanyRow;
  readonly viewer: Viewer;
}

/** Whose page this is, if this viewer may see it; a hidden company answers as one that never was. */
export function visitPage(exchange: Exchange): Visit {
  const { state } = exchange.services;
  const viewer = viewerOf(state, callerOf(exchange));
  const company = findCompany(state, viewer.realm, exchange.params.id ?? '');
  if (company === undefined || !pageVisible(company, viewer)) throw notFound('The company');
  return { company, viewer };
}
