import { loadInvestment } from '../investments/model.js';
import type { Completed } from '../sessions/complete.js';
import { offeringByNo } from '../sessions/offering-access.js';
import { sourceOfSession } from '../sessions/sources.js';
import { referralByNo } from './model.js';

/** Emits the event of a referred investment. The payload does not identify the investor. */
export const announceReferred: Completed = (services, session, now) => {
  const { state } = services;
  const referralNo = sourceOfSession(state, session.no)?.referral_no ?? null;
  if (referralNo === null || session.investment_no === null) return;
  const offering = offeringByNo(state, session.offering_no);
  const investment = loadInvestment(state, session.investment_no);
  const data = {
    id: investment.id,
    offering: offering.id,
    referral_code: referralByNo(state, referralNo).id,
    amounts: { committed: investment.committed_cents / 100 },
    occurred_at: new Date(now).toISOString(),
  };
  services.events.emit({
    name: 'investment.referred',
    realm: session.realm,
    at: now,
    companyNo: offering.company_no,
    syndicateNo: offering.syndicate_no,
    installationNo: null,
    dataFor: () => data,
  });
};
