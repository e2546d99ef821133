import type { JsonObject } from '../../domain/json.js';
import { notFound } from '../http/problem.js';
import type { Services } from '../services.js';
import { one } from '../state/statements.js';
import { derive, type Source } from './derive.js';
import { findInvestment } from './model.js';
import { contentShape, identityShape, unpacked } from './packed.js';
import { publicationOf, publishDue } from './publisher.js';
import { renderRecord } from './record.js';
import type { View } from './view.js';

/** Returns the current record, and whether the published one matches it. */
export function readOne(services: Services, view: View, id: string, now: number): object {
  publishDue(services, now);
  // Investment sessions use the prefix `invt_` for the same investment.
  const source = findInvestment(services.state, id.replace(/^invt_/, 'inv_'));
  if (source === undefined) throw notFound('The investment');
  const derived = derive(source);
  const seen = mayEverSee(services, view, source) && !derived.gone;
  const own = source.investor_no === view.person;
  if (!seen || (!own && !derived.visible)) throw notFound('The investment');
  const render = (content: JsonObject, identity: JsonObject) =>
    renderRecord(content, identity, view.identity, { observedAt: now, cursor: null, reason: null });
  const current = render(derived.content, derived.identity);
  const published = publicationOf(services.state, source.no);
  const before =
    published === undefined
      ? null
      : render(unpacked(contentShape, published.content), unpacked(identityShape, published.identity));
  return {
    data: current,
    meta: {
      source: 'current',
      published_observed_at: published === undefined ? null : new Date(published.observed_at).toISOString(),
      published_matches: before === null ? null : JSON.stringify(before) === JSON.stringify(current),
    },
  };
}

function mayEverSee(services: Services, view: View, source: Source): boolean {
  if (view.companies.includes(source.company_no)) return true;
  if (source.investor_no !== view.person) return false;
  const company = one<{ realm: string }>(services.state, 'SELECT realm FROM companies WHERE no = ?', [
    source.company_no,
  ]);
  return company?.realm === view.realm;
}
