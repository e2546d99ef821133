import type { Operation } from '../contract/operation.js';
import type { Exchange, Handler, PostedForm, Reply } from '../http/exchange.js';
import { seeOther } from '../pages/layout.js';
import { isForged, noticePage, outdatedForm, peopleToChoose, personByEmail } from '../pages/parts.js';
import { endVisit, signIn, type Visit, visitOf } from '../pages/visit.js';
import { one } from '../state/statements.js';
import type { IntentAction } from './action.js';
import { approve, reject } from './decide.js';
import { type Intent, intentByToken } from './model.js';
import { askDecision, askReviewer, decided, mayNotDecide, type Review } from './review-pages.js';

type Form = Readonly<Record<string, string>>;
type User = NonNullable<Visit['user']>;

const reasonLettersMax = 500;

export const openReview = (actions: readonly IntentAction[]): Handler =>
  reviewed(actions, (exchange, review) => {
    const { user } = review.visit;
    if (user === null) return askReviewer(review, peopleToChoose(exchange, review.intent.realm), null);
    const why = objection(exchange, review, user);
    if (why !== null) return mayNotDecide(review, user, why);
    if (review.intent.status !== 'pending') return decided(review, user);
    return askDecision(review, user, null);
  });

export const answerReview = (actions: readonly IntentAction[]): Handler<PostedForm> =>
  reviewed<PostedForm>(actions, (exchange, review) => {
    const form = exchange.input.body;
    if (isForged(review.visit, form)) return outdatedForm();
    switch (form.action) {
      case 'sign_in': {
        const email = (form.email ?? '').trim();
        const person = personByEmail(exchange, email);
        return person === undefined
          ? askReviewer(review, peopleToChoose(exchange, review.intent.realm), email)
          : seeOther(exchange.path, signIn(exchange, person.no));
      }
      case 'sign_out':
        return seeOther(exchange.path, endVisit(exchange));
      default:
        return decide(exchange, review, form);
    }
  });

function decide(exchange: Exchange, review: Review, form: Form): Reply {
  const { intent, action, visit } = review;
  if (visit.user === null) return seeOther(exchange.path);
  const why = objection(exchange, review, visit.user);
  if (why !== null) return mayNotDecide(review, visit.user, why);
  // Already decided, possibly in another window: the page shows the outcome.
  if (intent.status !== 'pending') return seeOther(exchange.path);
  if (form.action === 'approve') {
    approve(exchange.services, action, intent, visit.user.no, exchange.now);
    return seeOther(exchange.path);
  }
  if (form.action !== 'reject') {
    return noticePage(400, 'Unknown action', 'This form has no such action.');
  }
  const reason = (form.reason ?? '').trim();
  if (reason === '' || reason.length > reasonLettersMax) {
    return askDecision(review, visit.user, `Give a reason of at most ${reasonLettersMax} letters.`);
  }
  reject(exchange.services, intent, visit.user.no, reason, exchange.now);
  return seeOther(exchange.path);
}

/** Returns why this user may not decide, or null when they may. */
function objection(exchange: Exchange, { intent, action }: Review, user: User): string | null {
  if (action.decidedBy === 'proposer') {
    return intent.user_no === user.no ? null : 'Only the person for whom this was proposed can decide it.';
  }
  if (intent.user_no === user.no) return 'You proposed this, so another person has to decide it.';
  return action.mayDecide(exchange.services, intent, user.no)
    ? null
    : 'You have no permission to decide this.';
}

function reviewed<Declared extends Operation>(
  actions: readonly IntentAction[],
  then: (exchange: Exchange<Declared>, review: Review) => Reply,
): Handler<Declared> {
  return (exchange) => {
    const { state } = exchange.services;
    const intent = intentByToken(state, exchange.params.token ?? '');
    const action = actions.find(({ name }) => name === intent?.action);
    if (intent === undefined || action === undefined) {
      return noticePage(404, 'Link not found', 'Check that you copied the whole link.');
    }
    return then(exchange, {
      intent,
      action,
      application: nameOf(exchange, intent),
      visit: visitOf(exchange),
    });
  };
}

const nameOf = (exchange: Exchange, intent: Intent): string =>
  one<{ name: string }>(exchange.services.state, 'SELECT name FROM applications WHERE no = ?', [
    intent.application_no,
  ])?.name ?? '';
