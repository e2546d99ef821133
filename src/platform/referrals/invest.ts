import { html } from '../../runtime/html.js';
import type { Exchange, Handler, PostedForm, Reply } from '../http/exchange.js';
import { answerLanding, type Landing, showLanding } from '../pages/landing.js';
import { seeOther } from '../pages/layout.js';
import { noticePage } from '../pages/parts.js';
import { findOfferingById, isOpen, type Offering } from '../sessions/offering-access.js';
import { startFromLink, utmOf } from '../sessions/sources.js';
import { countClick, type ReferralCode, referralById } from './model.js';

/** `/invest/ofr_…?wfr=ref_…`: investments through this link are attributed to the application of the code. */
export const openInvest: Handler = (exchange) =>
  landed(exchange, (offering, code) => {
    if (exchange.method !== 'HEAD') countClick(exchange.services.state, code);
    return showLanding(exchange, landing(exchange, offering, code));
  });

export const answerInvest: Handler<PostedForm> = (exchange) =>
  landed(exchange, (offering, code) => answerLanding(exchange, landing(exchange, offering, code)));

function landed(exchange: Exchange, then: (offering: Offering, code: ReferralCode) => Reply): Reply {
  const { state } = exchange.services;
  const offering = findOfferingById(state, exchange.params.id ?? '');
  const code = referralById(state, exchange.query.get('wfr') ?? '');
  const fits =
    offering !== undefined &&
    code !== undefined &&
    code.realm === offering.realm &&
    (code.offering_no === null || code.offering_no === offering.no);
  if (!fits) return noticePage(404, 'Link not found', 'Check that you copied the whole link.');
  if (code.disabled_at !== null) {
    return noticePage(410, 'This link no longer works', 'Its owner has withdrawn it.');
  }
  if (!isOpen(offering)) {
    return noticePage(
      409,
      'This round has closed',
      `${offering.company_name} accepts no further commitments.`,
    );
  }
  return then(offering, code);
}

const landing = (exchange: Exchange, offering: Offering, code: ReferralCode): Landing => ({
  realm: offering.realm,
  title: `Invest in ${offering.company_name}`,
  lead: html`<p class="lead">${offering.investment_type} · ${offering.offering_type}</p>`,
  answers: [
    {
      value: 'start',
      label: 'Continue',
      primary: true,
      go: (user) => {
        const session = startFromLink(
          exchange.services,
          {
            applicationNo: code.application_no,
            offering,
            userNo: user.no,
            allocationCents: null,
            source: { referralNo: code.no, inviteLinkNo: null, utm: utmOf(exchange.query) },
          },
          exchange.now,
        );
        return seeOther(`/checkout/${session.token}`);
      },
    },
  ],
});
