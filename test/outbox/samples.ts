import type { Instant } from '../../src/domain/instant.js';
import type { Cents } from '../../src/domain/money.js';
import type { ChangeToReport } from '../../src/outbox/decide-notices.js';
import type { DueNotice } from '../../src/outbox/ports.js';

export function change(more: Partial<ChangeToReport> = {}): ChangeToReport {
  return {
    kind: 'changed',
    seq: 7,
    source: 'acme',
    id: 'inv_1',
    at: '2026-10-20T12:00:00.000Z',
    fields: ['status'],
    reason: 'changed',
    origin: 'feed',
    statusBefore: 'active',
    statusAfter: 'active',
    groupBefore: 'PENDING',
    groupAfter: 'PENDING',
    committedCentsBefore: 250_000 as Cents,
    committedCentsAfter: 250_000 as Cents,
    companyId: 'co_1',
    offeringId: 'ofr_1',
    currencyBefore: 'usd',
    currency: 'usd',
    convertedFrom: null,
    ...more,
  };
}

export const none = { statusBefore: null, groupBefore: null, committedCentsBefore: null } as const;
export const gone = { statusAfter: null, groupAfter: null, committedCentsAfter: null } as const;

export function dueNotice(more: Partial<DueNotice> = {}): DueNotice {
  return {
    notice: 1,
    source: 'acme',
    target: 'hook',
    attempts: 0,
    body: '{"text":"acme: inv_1 <!channel> & more"}',
    queuedAt: '2026-10-20T12:00:00.000Z' as Instant,
    ...more,
  };
}
