import type { Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { View } from './view.js';

/** Requires edit access to the company. Throws a 403, or since 2026-10-15 a 404, which does not reveal the record. */
export function requireEdit(exchange: Exchange, view: View, company: number, what: string): void {
  if (view.companies.includes(company)) return;
  if (exchange.version >= '2026-10-15') throw notFound(what);
  throw new Problem(403, 'forbidden', 'Only people who can edit the company may read this.', {
    remediation: 'Ask the company for edit access.',
  });
}
