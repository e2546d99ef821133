import { html } from '../../runtime/html.js';
import type { Exchange, Handler, PostedForm, Reply } from '../http/exchange.js';
import { answerLanding, type Landing, showLanding } from '../pages/landing.js';
import { seeOther } from '../pages/layout.js';
import { noticePage } from '../pages/parts.js';
import type { Completed } from '../sessions/complete.js';
import { written } from '../sessions/money.js';
import { isOpen, type Offering, offeringByNo } from '../sessions/offering-access.js';
import { sourceOfSession, startFromLink, utmOf } from '../sessions/sources.js';
import { one } from '../state/statements.js';
import {
  type InviteLink,
  inviteByToken,
  isActive,
  isPersonal,
  openInvite,
  refuseInvite,
  useInvite,
} from './model.js';

export const openInvited: Handler = (exchange) =>
  landed(exchange, (link, offering) => {
    // A HEAD request, for example from a link checker, does not open the invitation.
    if (exchange.method !== 'HEAD') openInvite(exchange.services.state, link, exchange.now);
    return showLanding(exchange, landing(exchange, link, offering));
  });

export const answerInvited: Handler<PostedForm> = (exchange) =>
  landed(exchange, (link, offering) => answerLanding(exchange, landing(exchange, link, offering)));

function landed(exchange: Exchange, then: (link: InviteLink, offering: Offering) => Reply): Reply {
  const { state } = exchange.services;
  const link = inviteByToken(state, exchange.params.token ?? '');
  if (link === undefined) {
    return noticePage(404, 'Link not found', 'Check that you copied the whole link.');
  }
  const offering = offeringByNo(state, link.offering_no);
  if (!isActive(link) || !isOpen(offering)) {
    return noticePage(
      410,
      'This link no longer works',
      'It was used up or canceled, or the round has closed.',
    );
  }
  return then(link, offering);
}

function landing(exchange: Exchange, link: InviteLink, offering: Offering): Landing {
  const { state } = exchange.services;
  const refuse = (refusal: 'declined' | 'spam') => () => {
    refuseInvite(state, link, refusal, exchange.now);
    return noticePage(200, 'Understood', 'You will not receive this invitation again.');
  };
  const greeting = link.first_name === null ? '' : `${link.first_name}, you`;
  return {
    realm: offering.realm,
    title: `${greeting === '' ? 'You' : greeting} are invited to invest in ${offering.company_name}`,
    lead: html`<p class="lead">${offering.investment_type} · ${offering.offering_type}</p>
${link.allocation_cents === null ? null : html`<p class="amount">${written(link.allocation_cents, offering.currency)}</p>`}
${link.message === null ? null : html`<blockquote>${link.message}</blockquote>`}`,
    ...(link.email === null ? {} : { invited: { email: link.email, name: nameOf(link, link.email) } }),
    answers: [
      ...(isPersonal(link)
        ? [
            { value: 'decline', label: 'No, thank you', go: refuse('declined') },
            { value: 'spam', label: 'This is spam', go: refuse('spam') },
          ]
        : []),
      {
        value: 'start',
        label: 'Continue',
        primary: true,
        go: (user) => start(exchange, link, offering, user),
      },
    ],
  };
}

/** Returns the name given in the invitation, or the part of the email before the @. */
const nameOf = (link: InviteLink, email: string): string =>
  [link.first_name, link.last_name].filter((part) => part !== null).join(' ') || email.replace(/@.*$/, '');

function start(
  exchange: Exchange,
  link: InviteLink,
  offering: Offering,
  user: { readonly no: number; readonly email: string },
): Reply {
  if (!isFor(link, user)) {
    return noticePage(
      403,
      'This link was made for somebody else',
      'Sign in with the account it was sent to.',
    );
  }
  const full = link.max_uses !== null && link.uses_count + link.underway >= link.max_uses;
  if (full && !underway(exchange, link, user.no)) {
    return noticePage(
      409,
      'All places are taken',
      'Other people are using this link right now. Try again tomorrow.',
    );
  }
  const session = startFromLink(
    exchange.services,
    {
      applicationNo: link.application_no,
      offering,
      userNo: user.no,
      allocationCents: link.allocation_cents,
      source: { referralNo: null, inviteLinkNo: link.no, utm: utmOf(exchange.query) },
    },
    exchange.now,
  );
  return seeOther(`/checkout/${session.token}`);
}

function isFor(link: InviteLink, user: { readonly no: number; readonly email: string }): boolean {
  if (link.recipient_no !== null) return link.recipient_no === user.no;
  return link.email === null || link.email.toLowerCase() === user.email.toLowerCase();
}

const underway = (exchange: Exchange, link: InviteLink, userNo: number): boolean =>
  one(
    exchange.services.state,
    `SELECT 1 FROM session_sources x JOIN investment_sessions s ON s.no = x.session_no
     WHERE x.invite_link_no = ? AND s.recipient_no = ? AND s.status IN ('pending', 'in_progress', 'abandoned')`,
    [link.no, userNo],
  ) !== undefined;

export const countInvite: Completed = (services, session, now) => {
  const linkNo = sourceOfSession(services.state, session.no)?.invite_link_no ?? null;
  if (linkNo !== null && session.investment_no !== null) {
    useInvite(services.state, linkNo, session.investment_no, now);
  }
};
