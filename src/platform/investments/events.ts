import type { EventName } from '../../wire/events.js';
import type { Services } from '../services.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
import { one } from '../state/statements.js';
import type { Source } from './derive.js';

interface Announcement {
  readonly visible: boolean;
  readonly reason: string;
  readonly observedAt: number;
  readonly first: boolean;
  readonly fields: readonly string[];
}

/** Emits `investment.changed` with id, visibility and reason only. Receivers fetch the record themselves. */
export function announcePublication(services: Services, source: Source, what: Announcement): void {
  const data = {
    id: source.id,
    visible: what.visible,
    company: source.company_id,
    reason: what.reason,
    observed_at: new Date(what.observedAt).toISOString(),
    first: what.first,
    fields: what.fields,
  };
  emit(services, source, 'investment.changed', what.observedAt, () => data);
}

/** Emits the lifecycle events of an investment when they happen, before the record is published. */
export function announceLifecycle(
  services: Services,
  before: Source | null,
  after: Source,
  now: number,
): void {
  const happened = before === null ? [happening('investment.created')] : happenedBetween(before, after);
  const deactivated = after.deactivated_at !== null;
  // Computed now, so that a later delivery has the totals of the time of the event.
  const totals = totalsOf(services, after);
  for (const [name, more] of happened) {
    emit(services, after, name, now, ({ scopes, kind }) => ({
      id: after.id,
      status: after.status,
      offering: after.offering_id,
      amounts: { committed: after.committed_cents / 100 },
      investor: {
        id: after.investor_id,
        ...(scopes.has('read:investors:pii') && !deactivated ? { name: after.name, email: after.email } : {}),
      },
      ...(kind === 'company' ? { investor_totals: totals } : {}),
      // `investment.executed` has no `occurred_at`.
      ...(name === 'investment.executed' ? {} : { occurred_at: microseconds(now) }),
      ...more,
    }));
  }
}

/** An event, and the fields that only events of its name have. */
type Happening = readonly [name: EventName, more: object];

const happening = (name: EventName, more: object = {}): Happening => [name, more];

function happenedBetween(before: Source, after: Source): readonly Happening[] {
  const happened = before.status === after.status ? [] : statusEvents(before, after);
  if (before.committed_cents === after.committed_cents) return happened;
  const previous = { previous_amounts: { committed: before.committed_cents / 100 } };
  return [...happened, happening('investment.amount_changed', previous)];
}

function statusEvents(before: Source, { status, canceled_at, converted_to }: Source): readonly Happening[] {
  if (status === 'canceled')
    return [happening('investment.canceled', { canceled_at: timestamp(canceled_at) })];
  if (status === 'converted') return [happening('investment.converted', { converted_to })];
  return [
    ...(before.status === 'canceled' ? [happening('investment.reinstated')] : []),
    ...(status === 'executed' ? [happening('investment.executed')] : []),
  ];
}

function totalsOf(services: Services, source: Source): object {
  const row = one<{ count: number; committed: string; latest: number | null }>(
    services.state,
    `SELECT count(*) AS count, ${exactSum('committed_cents')} AS committed, max(applied_at) AS latest
     FROM investments WHERE investor_no = ? AND company_no = ? AND deleted_at IS NULL
       AND status NOT IN ('canceled', 'converted')`,
    [source.investor_no, source.company_no],
  ) ?? { count: 0, committed: '', latest: null };
  return {
    active_investment_count: row.count,
    total_committed: Number(centsOfSum(row.committed)) / 100,
    latest_applied_at: timestamp(row.latest),
    investor_status: row.count > 0 ? 'active' : 'none_active',
  };
}

type DataFor = Parameters<Services['events']['emit']>[0]['dataFor'];

function emit(services: Services, source: Source, name: EventName, at: number, dataFor: DataFor): void {
  const realm = one<{ realm: 'test' | 'live' }>(services.state, 'SELECT realm FROM companies WHERE no = ?', [
    source.company_no,
  ])?.realm;
  if (realm === undefined) throw new Error('an investment belongs to no company');
  services.events.emit({
    name,
    realm,
    at,
    companyNo: source.company_no,
    syndicateNo: null,
    installationNo: null,
    dataFor,
  });
}

const timestamp = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
const microseconds = (at: number): string => new Date(at).toISOString().replace('Z', '000Z');
