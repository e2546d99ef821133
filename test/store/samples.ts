import type { InvestmentId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem, Identity, Investment } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import { type FeedPage, nothingApplied, type SourceIdentity, type TickReport } from '../../src/sync/ports.js';

export const acme: SourceIdentity = { name: 'acme' as SourceName, fingerprint: 'f1' };

export function investment(id: string, more: Partial<Investment> = {}): Investment {
  return {
    id: id as InvestmentId,
    company_id: 'co_1',
    offering_id: 'ofr_1',
    investor_id: `usr_${id}`,
    status: 'approved',
    group_label: 'Seed',
    investment_type: 'crypto',
    offering_type: 'regd',
    applied_at: '2026-01-02T03:04:05.000Z' as Instant,
    currency: 'USD',
    committed_cents: 100_00 as Cents,
    investment_size_cents: 100_00 as Cents,
    in_escrow_cents: 0 as Cents,
    raised_cents: 100_00 as Cents,
    shares: '10',
    average_share_price: '10.00',
    needs_whitelisting: false,
    visible: true,
    converted_to: null,
    converted_from: null,
    investor_deactivated: false,
    via_entity: false,
    blockers: '[]',
    contracts: '[]',
    observed_at: '2026-02-01T00:00:00.000Z' as Instant,
    reason: null,
    extra: null,
    ...more,
  };
}

export function identity(name: string, more: Partial<Identity> = {}): Identity {
  return {
    name,
    legal_name: null,
    email: `${name}@example.com`,
    address_line: null,
    city: null,
    state: null,
    postal_code: null,
    country: 'US',
    bio: null,
    message: null,
    external_username: null,
    email_hidden: false,
    extra: null,
    ...more,
  };
}

export function record(
  id: string,
  more: Partial<Investment> = {},
  person: Identity | null = identity(id),
): FeedItem {
  return { kind: 'record', investment: investment(id, more), identity: person };
}

export function tombstone(id: string, reason: string | null = 'withdrawn'): FeedItem {
  return {
    kind: 'tombstone',
    id: id as InvestmentId,
    observed_at: '2026-03-01T00:00:00.000Z' as Instant,
    reason,
  };
}

export function rejected(id: string | null, body = '{"bad":true}', problem = 'status is missing'): FeedItem {
  return { kind: 'rejected', id: id as InvestmentId | null, problem, body };
}

/** A partly unreadable entry that still shows that its identity must be erased. */
export function rejectedErasing(
  id: string,
  erases: 'tombstone' | 'deactivated' = 'deactivated',
  body = '{"bad":true}',
): FeedItem {
  return { kind: 'rejected', id: id as InvestmentId, problem: 'shares is not text', body, erases };
}

export function listingPage(items: readonly FeedItem[], next: string, hasMore = false): FeedPage {
  return {
    mode: 'listing',
    size: items.length,
    items,
    next,
    hasMore,
    publishedThrough: '2026-01-31T00:00:00.000Z' as Instant,
  };
}

export function deltaPage(items: readonly FeedItem[], next = 'c', hasMore = false): FeedPage {
  return {
    mode: 'delta',
    size: items.length,
    items,
    next,
    hasMore,
    publishedThrough: '2026-02-28T00:00:00.000Z' as Instant,
  };
}

/** A tick that followed the feed and changed nothing. */
export const tickReport = (set: Partial<TickReport> = {}): TickReport => ({
  trigger: 'timer',
  mode: 'delta',
  startedAt: '2026-05-01T00:00:00.000Z' as Instant,
  tookMs: 1,
  pages: 1,
  applied: nothingApplied,
  outcome: 'done',
  code: null,
  message: null,
  retryAt: null,
  ...set,
});
