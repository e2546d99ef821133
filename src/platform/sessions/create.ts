import type { z } from 'zod';
import type { sessionWish } from '../contract/sessions.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { announceSession } from './lifecycle.js';
import { activeSession, insertSession, type Recipient, type Session } from './model.js';
import { type Offering, offeringIdOf, requireOpen } from './offering-access.js';

export interface CreatedSession {
  readonly session: Session;
  /** False if the recipient already had an active session. */
  readonly made: boolean;
}

const hourMillis = 60 * 60 * 1000;

export function createSession(
  exchange: Exchange,
  offering: Offering,
  wish: z.output<typeof sessionWish>,
): CreatedSession {
  const { services, now } = exchange;
  const { app } = callerOf(exchange);
  if (wish.spv_id != null && offeringIdOf(wish.spv_id) !== offering.id) {
    throw new Problem(422, 'offering_mismatch', 'spv_id is not the vehicle of the offering in the URL.', {
      remediation: 'Leave spv_id out.',
    });
  }
  const recipient = recipientOf(services.state, wish);
  return services.state.transaction(() => {
    const existing = activeSession(services.state, offering.no, recipient);
    if (existing !== undefined) {
      if (existing.application_no === app.no) return { session: masked(existing, recipient), made: false };
      throw new Problem(
        409,
        'session_conflict',
        'The recipient has an active session of another application.',
      );
    }
    requireOpen(offering);
    const session = insertSession(
      services,
      {
        applicationNo: app.no,
        offering,
        origin: 'api',
        recipient,
        allocationCents: wish.allocation_cents ?? null,
        successUrl: wish.success_url ?? null,
        metadata: metadataOf(wish),
        expiresAt: now + wish.expires_in_hours * hourMillis,
      },
      now,
    );
    announceSession(services, 'investment_session.created', session, now);
    return { session, made: true };
  })();
}

function recipientOf(state: State, wish: z.output<typeof sessionWish>): Recipient {
  const email = wish.email ?? null;
  if (email !== null) {
    const user = one<{ no: number }>(state, 'SELECT no FROM users WHERE lower(email) = lower(?)', [email]);
    return { email, userNo: user?.no ?? null };
  }
  const user = one<{ no: number }>(state, 'SELECT no FROM users WHERE id = ? AND deactivated_at IS NULL', [
    wish.service_user_id ?? '',
  ]);
  if (user === undefined) throw notFound('The user');
  return { email: null, userNo: user.no };
}

/** Hides the email of an existing session from a request that gave the recipient by account. */
const masked = (session: Session, asked: Recipient): Session =>
  asked.email === null ? { ...session, email: null } : session;

function metadataOf(wish: z.output<typeof sessionWish>): Readonly<Record<string, unknown>> | null {
  if (wish.intent_id == null) return wish.metadata ?? null;
  return { ...wish.metadata, intent_id: wish.intent_id };
}
