import type { Publication } from './truth.js';

/** Returns a publication as the platform sends it. */
export function wireOf(
  { id, at, version, reason }: Publication,
  round: string,
  identity: boolean,
  cursor: string,
): object {
  const common = { id, observed_at: new Date(at).toISOString(), cursor, reason };
  if (version === null) return { ...common, visible: false };
  const { person } = version;
  const shown = identity && person !== null;
  return {
    ...common,
    visible: true,
    status: version.status,
    converted_to: null,
    converted_from: null,
    offering: round,
    company: version.company,
    investment_type: 'regd',
    offering_type: 'safe',
    group: version.mark,
    applied_at: '2026-05-01T10:00:00Z',
    amounts: {
      currency: 'usd',
      committed_cents: version.committed,
      investment_size_cents: version.committed,
      in_escrow_cents: null,
      raised_cents: version.raised,
    },
    shares: null,
    average_share_price: null,
    needs_whitelisting: false,
    investor: {
      id: version.investor,
      deactivated: version.deactivated,
      via_entity: false,
      ...(shown ? { name: person.name, legal_name: person.name, email: person.email } : {}),
    },
    blockers: [],
    contracts: [],
    ...(shown ? { message: person.message === '' ? null : person.message } : {}),
  };
}

/** The ways a record can arrive unreadable. */
export const poisons: readonly ((record: Record<string, unknown>) => unknown)[] = [
  (record) => ({ ...record, amounts: { currency: 'usd', committed_cents: '12.50' } }),
  (record) => ({ ...record, amounts: { currency: 'usd', committed_cents: 2 ** 53 } }),
  (record) => ({ ...record, observed_at: 'yesterday' }),
  (record) => ({ ...record, status: 7 }),
  (record) => ({ ...record, investor: 'nobody' }),
];
