import type { Exchange, Handler, PostedForm, Reply } from '../http/exchange.js';
import { seeOther } from '../pages/layout.js';
import {
  isForged,
  makePerson,
  noticePage,
  outdatedForm,
  type Person,
  personByEmail,
} from '../pages/parts.js';
import { endVisit, signIn, type Visit, visitOf } from '../pages/visit.js';
import { all, one } from '../state/statements.js';
import {
  askConfirmation,
  askIdentity,
  askName,
  askPayment,
  askWho,
  type Checkout,
  closedRound,
  ended,
  notForYou,
} from './checkout-pages.js';
import { type Completed, completeSession } from './complete.js';
import { enterSession } from './lifecycle.js';
import { isActive, type Session, sessionByNo, sessionByToken, writeSession } from './model.js';
import { centsFrom } from './money.js';
import { isOpen, offeringByNo } from './offering-access.js';
import { charge, checkIdentity } from './pretend.js';

type Form = Readonly<Record<string, string>>;
type User = NonNullable<Visit['user']>;

/** Shows the first incomplete step. The progress is stored only in the session. */
export const openCheckout: Handler = (exchange) => {
  const checkout = checkoutOf(exchange);
  if (checkout === null) return unknownLink();
  // A HEAD request, for example from a link checker, does not start the session.
  if (exchange.method === 'HEAD') return show(exchange, checkout);
  return show(exchange, entered(exchange, checkout));
};

export function answerCheckout(completed: readonly Completed[]): Handler<PostedForm> {
  return (exchange) => {
    const found = checkoutOf(exchange);
    if (found === null) return unknownLink();
    const form = exchange.input.body;
    if (isForged(found.visit, form)) return outdatedForm();
    if (!isActive(found.session)) return ended(found);
    const checkout = entered(exchange, found);
    switch (form.action) {
      case 'sign_in':
        return nameYourself(exchange, checkout, (form.email ?? '').trim());
      case 'join':
        return join(exchange, checkout, form);
      case 'sign_out':
        return seeOther(exchange.path, endVisit(exchange));
      default:
        return asRecipient(checkout, (user) =>
          answers[form.action ?? '']?.(exchange, checkout, user, form, completed),
        );
    }
  };
}

type Answer = (
  exchange: Exchange,
  checkout: Checkout,
  user: User,
  form: Form,
  completed: readonly Completed[],
) => Reply;

/** Submitting a completed or later step changes nothing and redirects to the current step. */
const answers: Readonly<Record<string, Answer | undefined>> = Object.assign(Object.create(null), {
  identity: (exchange, checkout, user, form) => {
    if (stepOf(checkout.session, checkout) !== 'identity') return seeOther(exchange.path);
    const status = checkIdentity(form.document ?? '');
    if (status === undefined) return askIdentity(checkout, user, 'That is not the number of a document.');
    const columns = { kyc_status: status, recipient_no: user.no };
    writeSession(exchange.services.state, checkout.session, columns, exchange.now);
    return seeOther(exchange.path);
  },
  fund: (exchange, checkout, user, form) => {
    const { session } = checkout;
    if (stepOf(session, checkout) !== 'payment') return seeOther(exchange.path);
    const typed = form.amount ?? '';
    const chosen = session.allocation_cents === null ? centsFrom(typed) : null;
    if (session.allocation_cents === null && chosen === null) {
      return askPayment(checkout, user, typed, 'Give the amount as a number of at least 1.');
    }
    const reservation = checkout.offering.testing_the_waters === 1;
    const status = reservation ? 'pending' : charge(form.card ?? '');
    if (status === undefined) return askPayment(checkout, user, typed, 'That is not the number of a card.');
    const columns = { funding_status: status, chosen_cents: chosen };
    writeSession(exchange.services.state, session, columns, exchange.now);
    return seeOther(exchange.path);
  },
  complete: (exchange, checkout, user, _form, completed) => {
    const { session } = checkout;
    if (stepOf(session, checkout) !== 'confirmation') return seeOther(exchange.path);
    if (!isOpen(checkout.offering)) return closedRound(checkout);
    completeSession(exchange.services, session, user.no, completed, exchange.now);
    return seeOther(session.success_url ?? exchange.path);
  },
} satisfies Record<string, Answer>);

function show(exchange: Exchange, checkout: Checkout): Reply {
  const { session, visit } = checkout;
  if (!isActive(session)) return ended(checkout);
  if (!isOpen(checkout.offering)) return closedRound(checkout);
  if (visit.user === null) return askWho(checkout, recipientListed(exchange, session), null);
  return asRecipient(checkout, (user) => {
    switch (stepOf(session, checkout)) {
      case 'identity':
        return askIdentity(checkout, user, null);
      case 'payment':
        return askPayment(checkout, user, chosenBefore(session), null);
      case 'confirmation':
        return askConfirmation(checkout, user);
    }
  });
}

/** Keeps the chosen amount in the form after a declined card. */
const chosenBefore = ({ chosen_cents: cents }: Session): string =>
  cents === null ? '' : (cents / 100).toFixed(cents % 100 === 0 ? 0 : 2);

function stepOf(session: Session, checkout: Checkout): 'identity' | 'payment' | 'confirmation' {
  if (session.kyc_status !== 'passed') return 'identity';
  const amount = session.allocation_cents ?? session.chosen_cents;
  const paid = session.funding_status === 'succeeded' || checkout.offering.testing_the_waters === 1;
  return amount !== null && paid ? 'confirmation' : 'payment';
}

/** Runs `then` only for the recipient of the link. */
function asRecipient(checkout: Checkout, then: (user: User) => Reply | undefined): Reply {
  const { session, visit } = checkout;
  if (visit.user === null) return askWho(checkout, [], null);
  const own =
    session.recipient_no === null
      ? session.email?.toLowerCase() === visit.user.email.toLowerCase()
      : session.recipient_no === visit.user.no;
  if (!own) return notForYou(checkout, visit.user);
  return then(visit.user) ?? noticePage(400, 'Unknown action', 'This form has no such action.');
}

function nameYourself(exchange: Exchange, checkout: Checkout, email: string): Reply {
  const user = personByEmail(exchange, email);
  if (user !== undefined) return seeOther(exchange.path, signIn(exchange, user.no));
  if (isInvited(checkout.session, email)) return askName(checkout, email, null);
  return askWho(checkout, recipientListed(exchange, checkout.session), email);
}

const isInvited = (session: Session, email: string): boolean =>
  session.recipient_no === null && session.email?.toLowerCase() === email.toLowerCase();

function join(exchange: Exchange, checkout: Checkout, form: Form): Reply {
  const email = (form.email ?? '').trim();
  const name = (form.name ?? '').trim();
  if (!isInvited(checkout.session, email) || personByEmail(exchange, email) !== undefined) {
    return seeOther(exchange.path);
  }
  if (name === '' || name.length > 120) return askName(checkout, email, 'Give your full name.');
  const { state } = exchange.services;
  const userNo = state.transaction(() => {
    const no = makePerson(exchange, email, name);
    // From now on the session belongs to the account, even if its email changes.
    writeSession(state, checkout.session, { recipient_no: no }, exchange.now);
    return no;
  })();
  return seeOther(exchange.path, signIn(exchange, userNo));
}

function checkoutOf(exchange: Exchange): Checkout | null {
  const { state } = exchange.services;
  const session = sessionByToken(state, exchange.params.token ?? '');
  if (session === undefined) return null;
  const app = one<{ name: string }>(state, 'SELECT name FROM applications WHERE no = ?', [
    session.application_no,
  ]);
  return {
    session,
    offering: offeringByNo(state, session.offering_no),
    application: app?.name ?? '',
    visit: visitOf(exchange),
  };
}

function entered(exchange: Exchange, checkout: Checkout): Checkout {
  enterSession(exchange.services, checkout.session, exchange.now);
  return { ...checkout, session: sessionByNo(exchange.services.state, checkout.session.no) };
}

/** Lists the recipient to choose from, only in the sandbox, where people are invented. */
function recipientListed(exchange: Exchange, session: Session): readonly Person[] {
  if (session.realm === 'live') return [];
  return all<Person>(
    exchange.services.state,
    'SELECT name, email FROM users WHERE deactivated_at IS NULL AND (no = ? OR lower(email) = lower(?))',
    [session.recipient_no, session.email],
  );
}

const unknownLink = (): Reply =>
  noticePage(404, 'Link not found', 'Check that you copied the whole link, or ask for a new one.');
