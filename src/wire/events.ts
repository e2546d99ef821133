/**
 * Every event an endpoint may subscribe to, with the scope an installation needs to receive it.
 * `installation.*` events need no scope and are sent only to app-wide endpoints of the application.
 */
export const eventScopes = {
  'investment.created': 'read:companies',
  'investment.reinstated': 'read:companies',
  'investment.canceled': 'read:companies',
  'investment.converted': 'read:companies',
  'investment.amount_changed': 'read:companies',
  'investment.executed': 'read:companies',
  'investment.changed': 'read:investments',
  'investment.referred': 'read:attribution:anonymized',
  'offering.opened': 'read:companies',
  'offering.closing': 'read:companies',
  'offering.closed': 'read:companies',
  'offering.canceled': 'read:companies',
  'investment_session.created': 'read:investment_sessions',
  'investment_session.started': 'read:investment_sessions',
  'investment_session.completed': 'read:investment_sessions',
  'investment_session.expired': 'read:investment_sessions',
  'investment_session.canceled': 'read:investment_sessions',
  'syndicate_member.invited': 'read:syndicates',
  'syndicate_member.reinvited': 'read:syndicates',
  'syndicate_member.applied': 'read:syndicates',
  'syndicate_member.approved': 'read:syndicates',
  'syndicate_member.joined': 'read:syndicates',
  'syndicate_member.left': 'read:syndicates',
  'syndicate_member.declined': 'read:syndicates',
  'join_session.created': 'write:syndicate_members',
  'join_session.started': 'write:syndicate_members',
  'join_session.completed': 'write:syndicate_members',
  'join_session.expired': 'write:syndicate_members',
  'join_session.canceled': 'write:syndicate_members',
  'installation.created': null,
  'installation.revoked': null,
} as const satisfies Record<string, string | null>;

export type EventName = keyof typeof eventScopes;
export const eventNames = Object.keys(eventScopes) as readonly EventName[];

/** The events a mirror needs: every published change of an investment, and the lifecycle of rounds. */
export const mirrorEvents = [
  'investment.changed',
  'offering.opened',
  'offering.closing',
  'offering.closed',
  'offering.canceled',
] as const satisfies readonly EventName[];
