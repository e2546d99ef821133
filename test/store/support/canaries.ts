import type { DatabaseLocation } from '../../../src/store/database-location.js';
import type { WorkingMirror } from './databases.js';
import { sourceRow } from './mirror.js';

/** A marker that occurs nowhere else, so that a leak is found even within a longer text. */
const mark = 'Zq7Canary';

/** Returns whether the text contains the marker in any form a statement could produce. A masked mirror must not. */
export function showsPeople(text: string): boolean {
  const lower = text.toLowerCase();
  return forms.some((form) => lower.includes(form));
}

const forms = [
  mark,
  [...mark].reverse().join(''),
  Buffer.from(mark).toString('hex'),
  Buffer.from(mark).toString('base64').slice(0, 10),
].map((form) => form.toLowerCase());

/**
 * Fills a mirror with marked people everywhere identity can be: identities, staged rows, quarantined and webhook
 * bodies.
 */
export async function fillWithCanaries(mirror: WorkingMirror): Promise<DatabaseLocation> {
  await mirror.insert('sources', sourceRow(1, { name: 'acme', rows_held: 1 }));
  await mirror.insert('investment_rows', {
    row_no: 1,
    source_no: 1,
    id: 'inv_1',
    status: 'active',
    currency: 'usd',
    committed_cents: 100,
    needs_whitelisting: 0,
    visible: 1,
    investor_deactivated: 0,
    via_entity: 0,
    blockers: '[]',
    contracts: '[]',
    observed_at: '2026-10-20T12:00:00.000Z',
    extra: '{"tier":"gold"}',
    offering_id: 'ofr_1',
    company_id: 'co_1',
    investor_id: 'usr_1',
    raised_cents: 100,
    applied_at: '2026-10-01T00:00:00.000Z',
  });
  await mirror.insert('identity_rows', {
    row_no: 1,
    name: `${mark} Name`,
    legal_name: `${mark} Legal`,
    email: `${mark}@example.com`,
    city: `${mark} City`,
    bio: `${mark} bio`,
    message: `${mark} message`,
    extra: `{"nick":"${mark}"}`,
  });
  await mirror.insert('staged_rows', {
    stage_no: 1,
    source_no: 1,
    id: 'inv_2',
    status: 'active',
    needs_whitelisting: 0,
    visible: 1,
    investor_deactivated: 0,
    via_entity: 0,
    blockers: '[]',
    contracts: '[]',
    observed_at: '2026-10-20T12:00:00.000Z',
    identity: `{"name":"${mark} Staged"}`,
  });
  await mirror.insert('quarantine_rows', {
    quarantine_no: 1,
    source_no: 1,
    id: 'inv_3',
    problem: 'status is missing',
    body: `{"name":"${mark} Quarantined"}`,
    seen_at: '2026-10-20T12:00:00.000Z',
  });
  await mirror.insert('webhook_inbox', {
    inbox_no: 1,
    event_id: 'evt_1',
    installation: 'inst_1',
    event: 'investment.changed',
    test: 0,
    received_at: '2026-10-20T12:00:00.000Z',
    state: 'pending',
    attempts: 0,
    body: `{"to":"${mark}"}`,
  });
  return mirror.place;
}
