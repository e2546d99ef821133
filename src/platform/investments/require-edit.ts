import type { Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { View } from './view.js';

/** A company's books are for those who edit it. The newer version does not even say that there is something to see. */
export function requireEdit(exchange: Exchange, view: View, company: number, what: string): void {
  if (view.companies.includes(company)) return;
  if (exchange.version >= '2026-10-15') throw notFound(what);
  throw new Problem(403, 'forbidden', 'Only people who can edit the company may read this.', {
    remediation: 'Ask the company for edit access.',
  });
}
