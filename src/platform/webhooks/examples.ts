import type { EventName } from '../../wire/events.js';
import { iso } from '../http/timestamps.js';

/** Returns example data for a test send, in the shape of a real event. Ids are recognizable as examples. */
export function exampleData(
  event: EventName,
  now: number,
  withIdentity: boolean,
): Readonly<Record<string, unknown>> {
  return examples(iso(now), withIdentity)[event];
}

const ids = {
  investment: 'inv_example',
  successor: 'inv_example_successor',
  offering: 'ofr_example',
  company: 'co_example',
  user: 'usr_example',
  syndicate: 'syn_example',
  member: 'mem_example',
  session: 'is_example',
  installation: 'inst_example',
} as const;

type Example = Readonly<Record<string, unknown>>;

function examples(at: string, withIdentity: boolean): Readonly<Record<EventName, Example>> {
  const identity = withIdentity ? { name: 'Example Investor', email: 'investor@example.com' } : {};
  const lifecycle = (status: string, more: Example = {}): Example => ({
    id: ids.investment,
    status,
    offering: ids.offering,
    amounts: { committed: 1000 },
    investor: { id: ids.user, ...identity },
    investor_totals: {
      active_investment_count: status === 'canceled' ? 0 : 1,
      total_committed: status === 'canceled' ? 0 : 1000,
      latest_applied_at: status === 'canceled' ? null : at,
      investor_status: status === 'canceled' ? 'none_active' : 'active',
    },
    ...(status === 'executed' ? {} : { occurred_at: at.replace('Z', '000Z') }),
    ...more,
  });
  const offering = (status: string, more: Example = {}): Example => ({
    offering: ids.offering,
    status,
    company: { name: 'Example Company', url: 'example-company' },
    ...more,
  });
  const session = (status: string, more: Example = {}): Example => ({
    id: ids.session,
    status,
    offering: ids.offering,
    email: 'investor@example.com',
    allocation_cents: 100_000,
    expires_at: at,
    ...more,
  });
  const invited: Example = {
    syndicate: ids.syndicate,
    email: 'member@example.com',
    name: 'Example Member',
    user: null,
    invited_by: { id: ids.user, name: 'Example Manager' },
    occurred_at: at,
  };
  const member = (status: string): Example => ({
    id: ids.member,
    syndicate: ids.syndicate,
    status,
    user: { id: ids.user, name: 'Example Member', email: 'member@example.com' },
    approved_by: null,
    occurred_at: at,
  });
  const join = (status: string): Example => ({
    id: 'join_example',
    status,
    syndicate: ids.syndicate,
    email: 'member@example.com',
    member: status === 'completed' ? ids.member : null,
    expires_at: at,
    occurred_at: at,
  });
  const installation = (revokedAt: string | null): Example => ({
    id: ids.installation,
    target: { type: 'company', id: ids.company },
    tier: 'founder',
    scopes: ['read:companies', 'read:investments'],
    status: revokedAt === null ? 'active' : 'revoked',
    installed_at: at,
    revoked_at: revokedAt,
    actor: { role: 'founder' },
  });
  return {
    'investment.created': lifecycle('active'),
    'investment.reinstated': lifecycle('active'),
    'investment.canceled': lifecycle('canceled', { canceled_at: at }),
    'investment.converted': lifecycle('converted', { converted_to: ids.successor }),
    'investment.amount_changed': lifecycle('active', { previous_amounts: { committed: 500 } }),
    'investment.executed': lifecycle('executed'),
    'investment.changed': {
      id: ids.investment,
      visible: true,
      company: ids.company,
      reason: 'changed',
      observed_at: at,
      first: false,
      fields: ['amounts'],
    },
    'investment.referred': {
      id: ids.investment,
      offering: ids.offering,
      referral_code: 'ref_example',
      amounts: { committed: 1000 },
      occurred_at: at,
    },
    'offering.opened': offering('open'),
    'offering.closing': offering('closing', { expected_disbursement_at: at }),
    'offering.closed': offering('closed'),
    'offering.canceled': offering('canceled'),
    'investment_session.created': session('pending'),
    'investment_session.started': session('in_progress'),
    'investment_session.completed': session('completed', { investment: ids.investment }),
    'investment_session.expired': session('expired'),
    'investment_session.canceled': session('canceled'),
    'syndicate_member.invited': invited,
    'syndicate_member.reinvited': invited,
    'syndicate_member.applied': member('pending'),
    'syndicate_member.approved': member('approved'),
    'syndicate_member.joined': member('member'),
    'syndicate_member.left': member('left'),
    'syndicate_member.declined': member('declined'),
    'join_session.created': join('pending'),
    'join_session.started': join('in_progress'),
    'join_session.completed': join('completed'),
    'join_session.expired': join('expired'),
    'join_session.canceled': join('canceled'),
    'installation.created': installation(null),
    'installation.revoked': installation(at),
  };
}
