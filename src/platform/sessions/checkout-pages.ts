import { type Html, html } from '../../runtime/html.js';
import type { Reply } from '../http/exchange.js';
import { pageReply, sourceOf } from '../pages/layout.js';
import { cookieOf, csrfField, type Person, realmBadge, signedIn, signInForms } from '../pages/parts.js';
import type { Visit } from '../pages/visit.js';
import type { Session } from './model.js';
import { written } from './money.js';
import type { Offering } from './offering-access.js';
import { cards, refusedDocument } from './pretend.js';

/** The data every checkout page shows. */
export interface Checkout {
  readonly session: Session;
  readonly offering: Offering;
  readonly application: string;
  readonly visit: Visit;
}

const steps = ['Who you are', 'Identity', 'Payment', 'Confirm'] as const;
type Step = 0 | 1 | 2 | 3;

function page(checkout: Checkout, step: Step | null, question: Html, problem: string | null = null): Reply {
  const { session, offering, visit } = checkout;
  const line = steps.map((name, index) =>
    index === step ? html`<li aria-current="step">${name}</li>` : html`<li>${name}</li>`,
  );
  const body = html`${realmBadge(session.realm)}${step === null ? null : html`<ol class="steps">${line}</ol>`}
${question}`;
  return pageReply({
    status: problem === null ? 200 : 422,
    title: `Invest · ${offering.company_name}`,
    body,
    ...(session.success_url === null ? {} : { leadsTo: sourceOf(session.success_url) }),
    ...cookieOf(visit),
  });
}

const alert = (problem: string | null): Html | null =>
  problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`;

const amountLine = ({ session, offering }: Checkout): Html | null => {
  const cents = session.allocation_cents ?? session.chosen_cents;
  return cents === null ? null : html`<p class="amount">${written(cents, offering.currency)}</p>`;
};

const opening = (checkout: Checkout): Html =>
  html`<h1>Invest in ${checkout.offering.company_name}</h1>
<p class="lead">${checkout.offering.investment_type} · ${checkout.offering.offering_type}, by invitation of ${checkout.application}</p>${amountLine(checkout)}`;

export function askWho(checkout: Checkout, people: readonly Person[], unknownEmail: string | null): Reply {
  const forms = signInForms(checkout.visit, people, unknownEmail);
  const lead = html`<p class="soft">This server has no passwords: sign in with an email address.</p>`;
  return page(checkout, 0, html`${opening(checkout)}${lead}${forms}`, unknownEmail);
}

/** Asks for the name of an invited person whose email has no account yet. */
export function askName(checkout: Checkout, email: string, problem: string | null): Reply {
  return page(
    checkout,
    0,
    html`${opening(checkout)}
<form method="post">${csrfField(checkout.visit)}<input type="hidden" name="action" value="join"><input type="hidden" name="email" value="${email}">
<p>There is no account for <strong>${email}</strong> yet. Tell us your name and it is made.</p>
<label for="name">Full name</label><input id="name" name="name" autocomplete="name" required maxlength="120">
${alert(problem)}<div class="actions"><button class="primary">Make my account</button></div></form>`,
    problem,
  );
}

export function notForYou(checkout: Checkout, person: Person): Reply {
  const body = html`<h1>This link was made for somebody else</h1>
<p class="lead">You are signed in with another account than the one it was sent to.</p>${signedIn(checkout.visit, person)}`;
  return pageReply({ status: 403, title: 'Not your link', body, ...cookieOf(checkout.visit) });
}

const hint = (checkout: Checkout, text: Html): Html | null =>
  checkout.session.realm === 'test' ? html`<p class="soft">${text}</p>` : null;

export function askIdentity(checkout: Checkout, person: Person, problem: string | null): Reply {
  const failed =
    checkout.session.kyc_status === 'failed'
      ? 'We could not confirm who you are. Check the number, or use another document.'
      : null;
  return page(
    checkout,
    1,
    html`${opening(checkout)}${signedIn(checkout.visit, person)}
<form method="post">${csrfField(checkout.visit)}<input type="hidden" name="action" value="identity">
<label for="document">Number of your passport or identity card</label>
<input id="document" name="document" autocomplete="off" required maxlength="30">
${alert(problem ?? failed)}
${hint(checkout, html`Nothing is checked here: every number passes, <code>${refusedDocument}</code> fails.`)}
<div class="actions"><button class="primary">Check my identity</button></div></form>`,
    problem,
  );
}

const refusals = {
  card_declined: 'The card was declined. Nothing was charged: try another card.',
  insufficient_funds: 'The card has insufficient funds. Nothing was charged: try another card.',
} as const;

export function askPayment(checkout: Checkout, person: Person, typed: string, problem: string | null): Reply {
  const { session } = checkout;
  const status = session.funding_status;
  const refused = status === 'card_declined' || status === 'insufficient_funds' ? refusals[status] : null;
  const reservation = checkout.offering.testing_the_waters === 1;
  const amount =
    session.allocation_cents === null
      ? html`<label for="amount">Amount in ${checkout.offering.currency.toUpperCase()}</label>
<input id="amount" name="amount" inputmode="decimal" required maxlength="20" value="${typed}">`
      : null;
  const card = html`<label for="card">Card number</label>
<input id="card" name="card" inputmode="numeric" autocomplete="cc-number" required maxlength="30">`;
  const numbers = html`Nothing is charged here: <code>${cards.approved}</code> pays, <code>${cards.declined}</code> is declined, <code>${cards.poor}</code> has insufficient funds.`;
  return page(
    checkout,
    2,
    html`${opening(checkout)}${signedIn(checkout.visit, person)}
<form method="post">${csrfField(checkout.visit)}<input type="hidden" name="action" value="fund">
${amount}${reservation ? null : card}${alert(problem ?? refused)}
${reservation ? null : hint(checkout, numbers)}
<div class="actions"><button class="primary">${reservation ? 'Continue' : 'Pay'}</button></div></form>`,
    problem,
  );
}

export function askConfirmation(checkout: Checkout, person: Person): Reply {
  const { offering, session } = checkout;
  const reservation = offering.testing_the_waters === 1;
  return page(
    checkout,
    3,
    html`<h1>${reservation ? 'Reserve' : 'Confirm your investment'}</h1>${amountLine(checkout)}
${signedIn(checkout.visit, person)}
<dl><dt>Company</dt><dd>${offering.company_name}</dd><dt>Security</dt><dd>${offering.investment_type} (${offering.offering_type})</dd>
<dt>Identity</dt><dd>${session.kyc_status}</dd><dt>Payment</dt><dd>${reservation ? 'none, a reservation is not binding' : 'ready'}</dd></dl>
<form method="post">${csrfField(checkout.visit)}<div class="actions"><button class="primary" name="action" value="complete">${reservation ? 'Reserve' : 'Invest'}</button></div></form>`,
  );
}

const endings = {
  canceled: 'The sender has withdrawn it. Nothing was charged.',
  expired: 'It has expired. Ask the sender for a new one.',
} as const;

export function ended(checkout: Checkout): Reply {
  const { session, offering } = checkout;
  if (session.status === 'canceled' || session.status === 'expired') {
    const body = html`<h1>This link no longer works</h1><p class="lead">${endings[session.status]}</p>`;
    return pageReply({ status: 410, title: 'This link no longer works', body });
  }
  return page(
    checkout,
    null,
    html`<h1>Done</h1>${amountLine(checkout)}<p class="lead">Your commitment to ${offering.company_name} is on record.</p>
${session.success_url === null ? null : html`<p><a class="button" href="${session.success_url}" rel="noreferrer">Back to ${checkout.application}</a></p>`}`,
  );
}

export const closedRound = (checkout: Checkout): Reply =>
  pageReply({
    status: 409,
    title: `Closed · ${checkout.offering.company_name}`,
    body: html`<h1>This round has closed</h1><p class="lead">${checkout.offering.company_name} accepts no further commitments. Nothing was charged.</p>`,
    ...cookieOf(checkout.visit),
  });
