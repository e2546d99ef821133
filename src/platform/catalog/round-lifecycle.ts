import type { EventName } from '../../wire/events.js';
import { Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import type { Realm } from '../state/secrets.js';
import { one, run } from '../state/statements.js';

export const roundSteps = ['open', 'closing', 'closed', 'canceled'] as const;
export type RoundStep = (typeof roundSteps)[number];

const eventOfStep: Readonly<Record<RoundStep, EventName>> = {
  open: 'offering.opened',
  closing: 'offering.closing',
  closed: 'offering.closed',
  canceled: 'offering.canceled',
};

/** Closed and canceled rounds have no next step. */
const nextSteps: Readonly<Record<string, readonly RoundStep[]>> = {
  upcoming: ['open', 'canceled'],
  open: ['closing', 'closed', 'canceled'],
  oversubscribed: ['closing', 'closed', 'canceled'],
  closing: ['closed', 'canceled'],
};

interface Round {
  readonly id: string;
  readonly status: string;
  readonly realm: Realm;
  readonly company_no: number;
  readonly company_name: string;
  readonly company_slug: string;
  readonly syndicate_no: number | null;
}

/** Changes the status of a round and emits its event. Call it inside the transaction of the cause. */
export function moveRound(services: Services, offeringNo: number, step: RoundStep, now: number): void {
  const { state } = services;
  const round = one<Round>(
    state,
    `SELECT o.id, o.status, c.realm, o.company_no, c.name AS company_name, c.slug AS company_slug, o.syndicate_no
     FROM offerings o JOIN companies c ON c.no = o.company_no WHERE o.no = ?`,
    [offeringNo],
  );
  if (round === undefined) throw new Error(`there is no offering ${offeringNo}`);
  if (nextSteps[round.status]?.includes(step) !== true) {
    throw new Problem(409, 'conflict', `A round that is ${round.status} cannot become ${step}.`);
  }
  run(
    state,
    `UPDATE offerings SET status = :step,
       started_at = CASE WHEN :step = 'open' THEN coalesce(started_at, :now) ELSE started_at END,
       closed_at = CASE WHEN :step = 'closed' THEN :now END
     WHERE no = :no`,
    { step, now, no: offeringNo },
  );
  const data = {
    offering: round.id,
    status: step,
    company: { name: round.company_name, url: round.company_slug },
  };
  services.events.emit({
    name: eventOfStep[step],
    realm: round.realm,
    at: now,
    companyNo: round.company_no,
    syndicateNo: round.syndicate_no,
    installationNo: null,
    dataFor: () => data,
  });
}
