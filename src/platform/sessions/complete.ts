import { createInvestment } from '../investments/write.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { one } from '../state/statements.js';
import { announceSession } from './lifecycle.js';
import { type Session, writeSession } from './model.js';
import { offeringByNo } from './offering-access.js';

interface Investor {
  readonly no: number;
  readonly id: string;
  readonly name: string;
  readonly legal_name: string;
  readonly email: string;
  readonly address: string | null;
  readonly bio: string | null;
}

/** Called when a checkout completes, for example to count a use of the link it started from. */
export type Completed = (services: Services, session: Session, now: number) => void;

/** Completes a session. The investment, its publication, the session and all events are one commit. */
export function completeSession(
  services: Services,
  session: Session,
  investorNo: number,
  completed: readonly Completed[],
  now: number,
): Session {
  const { state } = services;
  const offering = offeringByNo(state, session.offering_no);
  const investor = one<Investor>(
    state,
    'SELECT no, id, name, legal_name, email, address, bio FROM users WHERE no = ?',
    [investorNo],
  );
  const cents = session.allocation_cents ?? session.chosen_cents;
  if (investor === undefined || cents === null)
    throw new Error('a checkout ended without investor or amount');
  const reservation = offering.testing_the_waters === 1;
  return state.transaction(() => {
    const investment = createInvestment(
      services,
      {
        id: newId(services.random, 'inv_'),
        company_no: offering.company_no,
        company_id: offering.company_id,
        offering_no: offering.no,
        offering_id: offering.id,
        investor_no: investor.no,
        investor_id: investor.id,
        status: reservation ? 'reserved' : 'active',
        // Paid in full, so it counts as raised immediately.
        group_label: reservation ? 'NO PAYMENT YET' : 'IS READY',
        entity_name: null,
        committed_cents: cents,
        in_escrow_cents: reservation ? 0 : cents,
        applied_at: now,
        canceled_at: null,
        message: null,
        external_username: null,
        blockers: '[]',
        contracts: '[]',
        converted_to: null,
        converted_from: null,
        hidden: 0,
        deleted_at: null,
        overrides: null,
        currency: offering.currency,
        investment_type: offering.investment_type,
        offering_type: offering.offering_type,
        share_price_cents: offering.share_price_cents,
        name: investor.name,
        legal_name: investor.legal_name,
        email: investor.email,
        address: investor.address,
        bio: investor.bio,
        deactivated_at: null,
      },
      now,
    );
    const columns = { status: 'completed', recipient_no: investor.no, investment_no: investment.no } as const;
    const ended = writeSession(state, session, columns, now);
    announceSession(services, 'investment_session.completed', ended, now);
    for (const also of completed) also(services, ended, now);
    return ended;
  })();
}
