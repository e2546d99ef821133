import type { EventName } from '../../wire/events.js';
import { iso } from '../http/timestamps.js';
import type { Services } from '../services.js';
import { one } from '../state/statements.js';
import type { Actor } from '../syndicates/activity.js';
import type { Syndicate } from '../syndicates/model.js';
import type { Member } from './model.js';

type Person = { readonly id: string; readonly name: string } | null;

function personOf(services: Services, actor: Actor): Person {
  if (actor === null) return null;
  return (
    one<{ id: string; name: string }>(services.state, 'SELECT id, name FROM users WHERE no = ?', [actor]) ??
    null
  );
}

/** Emits to every entitled installation: those on the syndicate with `read:syndicates`. */
function emit(services: Services, syndicate: Syndicate, name: EventName, at: number, data: object): void {
  services.events.emit({
    name,
    realm: syndicate.realm,
    at,
    companyNo: null,
    syndicateNo: syndicate.no,
    installationNo: null,
    dataFor: () => data,
  });
}

/** The payload has the email that was entered, never that of the account. */
export function announceInvitation(
  services: Services,
  name: 'syndicate_member.invited' | 'syndicate_member.reinvited',
  syndicate: Syndicate,
  member: Member,
  invitedBy: Actor,
  now: number,
): void {
  const account = one<{ id: string }>(
    services.state,
    'SELECT id FROM users WHERE lower(email) = lower(?) AND deactivated_at IS NULL',
    [member.email],
  );
  emit(services, syndicate, name, now, {
    syndicate: syndicate.id,
    email: member.email,
    name: member.name,
    user: account?.id ?? null,
    invited_by: personOf(services, invitedBy),
    occurred_at: iso(now),
  });
}

/** Each event with its status. Some events have several statuses, one per cause. */
export type MemberEvent =
  | { readonly name: 'syndicate_member.applied'; readonly status: 'pending' }
  | { readonly name: 'syndicate_member.approved'; readonly status: 'approved' }
  | { readonly name: 'syndicate_member.joined'; readonly status: 'member' }
  | { readonly name: 'syndicate_member.left'; readonly status: 'left' | 'removed' | 'payment_failed' }
  | { readonly name: 'syndicate_member.declined'; readonly status: 'declined' | 'withdrawn' };

/** `approvedBy` is null for a join without manual approval: by invitation or automatic. */
export function announceMember(
  services: Services,
  event: MemberEvent,
  syndicate: Syndicate,
  member: Member,
  approvedBy: Actor,
  now: number,
): void {
  emit(services, syndicate, event.name, now, {
    id: member.id,
    syndicate: syndicate.id,
    status: event.status,
    user: { id: member.user_id, name: member.name, email: member.email },
    approved_by: personOf(services, approvedBy),
    occurred_at: iso(now),
  });
}
