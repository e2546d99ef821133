import { baseUrl } from '../http/base-url.js';
import type { Exchange, PostedForm, Reply } from '../http/exchange.js';
import { acceptInvitation, endMembership, join } from '../members/join-and-leave.js';
import { withParameters } from '../oauth/redirect-uris.js';
import { seeOther } from '../pages/layout.js';
import { isForged, noticePage, outdatedForm } from '../pages/parts.js';
import { endVisit, signIn, type Visit, visitOf } from '../pages/visit.js';
import { newId } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import { addressOf, awaitsAnswer, isDead, type Link, linkOf, memberOfLink, nameOf } from './link.js';
import { isOpen, type JoinSession } from './model.js';
import { askPage, signInPage, standingPage, wrongPersonPage } from './pages.js';
import { joinUrl } from './present.js';
import { expireDue, moveSession } from './transitions.js';

type SignedIn = NonNullable<Visit['user']>;

/** Shows the page for this visitor. The session starts when its recipient opens it. */
export function openJoinPage(exchange: Exchange): Reply {
  const link = liveLink(exchange);
  return 'status' in link ? link : show(exchange, link, visitOf(exchange));
}

export function answerJoinPage(exchange: Exchange<PostedForm>): Reply {
  const link = liveLink(exchange);
  if ('status' in link) return link;
  const visit = visitOf(exchange);
  const form = exchange.input.body;
  if (isForged(visit, form)) return outdatedForm();
  if (form.action === 'sign_in') return answerSignIn(exchange, link, visit, (form.email ?? '').trim());
  if (form.action === 'sign_out') return seeOther(exchange.path, endVisit(exchange));
  const person = visit.user;
  if (person === null) return seeOther(exchange.path);
  if (!isFor(link, person)) return wrongPersonPage(link, visit, person);
  const act = form.action !== undefined && Object.hasOwn(acts, form.action) ? acts[form.action] : undefined;
  if (act === undefined) return noticePage(400, 'Unknown action', 'This form has no such action.');
  return exchange.services.state.transaction(() => act(exchange, link, visit, person))();
}

/** Returns the link, or a page that explains why it does not work. */
function liveLink(exchange: Exchange): Link | Reply {
  const { services, now } = exchange;
  expireDue(services, now);
  const link = linkOf(services.state, exchange.params.token ?? '');
  if (link === undefined) return noticePage(404, 'Link not found', 'Ask for a new one.');
  const expired = link.kind === 'session' && link.session.status === 'expired';
  if (expired || isDead(link)) return noticePage(410, 'This link has expired', 'Ask for a new one.');
  if (link.kind === 'session' && link.session.status === 'canceled') {
    return noticePage(
      410,
      'This invitation was declined',
      'Nothing was shared. Ask for a new link to join after all.',
    );
  }
  return link;
}

const isFor = (link: Link, person: SignedIn): boolean =>
  addressOf(link)?.toLowerCase() === person.email.toLowerCase();

function show(exchange: Exchange, link: Link, visit: Visit): Reply {
  const { services, now } = exchange;
  const person = visit.user;
  if (person === null) return signInPage(link, visit, null);
  if (!isFor(link, person)) return wrongPersonPage(link, visit, person);
  const member = memberOfLink(services.state, link);
  if (!awaitsAnswer(link) && member !== null) return standingPage(link, visit, person, member);
  if (link.kind === 'session' && link.session.status === 'pending' && exchange.method === 'GET') {
    moveSession(services, link.session, 'in_progress', null, now);
  }
  return askPage(link, visit, person);
}

/** Signs the visitor in. If the link was sent to an email without an account, an account is created. */
function answerSignIn(exchange: Exchange, link: Link, visit: Visit, email: string): Reply {
  const { services, now } = exchange;
  const account = one<{ no: number }>(
    services.state,
    'SELECT no FROM users WHERE lower(email) = lower(?) AND deactivated_at IS NULL',
    [email],
  );
  if (account !== undefined) return seeOther(exchange.path, signIn(exchange, account.no));
  const address = addressOf(link);
  if (address === null || email.toLowerCase() !== address.toLowerCase())
    return signInPage(link, visit, email);
  const name = nameOf(link) ?? address.slice(0, address.indexOf('@'));
  const id = newId(services.random, 'usr_');
  const { no } = run(
    services.state,
    'INSERT INTO users (id, email, username, name, legal_name, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    [id, address, id.toLowerCase(), name, name, now],
  );
  return seeOther(exchange.path, signIn(exchange, no));
}

type Act = (exchange: Exchange, link: Link, visit: Visit, person: SignedIn) => Reply;

const acts: Readonly<Record<string, Act>> = {
  join: (exchange, link, visit, person) => {
    const { services, now } = exchange;
    const { syndicate } = link;
    if (!awaitsAnswer(link)) return seeOther(exchange.path);
    const member =
      link.kind === 'session'
        ? join(services, syndicate, person, now)
        : acceptInvitation(services, syndicate, link.member, person, now);
    if (member === null) {
      return noticePage(
        403,
        'You cannot join',
        `The managers of ${syndicate.name} do not allow you to join.`,
      );
    }
    if (link.kind === 'invitation') return standingPage(link, visit, person, member);
    const done = moveSession(services, link.session, 'completed', member.no, now);
    return seeOther(afterwards(exchange, done));
  },
  decline: (exchange, link) => {
    const { services, now } = exchange;
    if (!awaitsAnswer(link)) return seeOther(exchange.path);
    if (link.kind === 'invitation') endMembership(services, link.syndicate, link.member, 'decline', now);
    else if (isOpen(link.session)) {
      const done = moveSession(services, link.session, 'canceled', null, now);
      if (done.success_url !== null) return seeOther(afterwards(exchange, done));
    }
    return noticePage(200, 'You declined', 'Nothing was shared.');
  },
  withdraw: out('withdraw'),
  leave: out('leave'),
};

function out(way: 'withdraw' | 'leave'): Act {
  return (exchange, link) => {
    const { services, now } = exchange;
    const member = memberOfLink(services.state, link);
    if (member !== null) endMembership(services, link.syndicate, member, way, now);
    return seeOther(exchange.path);
  };
}

/** Returns the success_url with the outcome as parameters, or the URL of this page when there is none. */
function afterwards(exchange: Exchange, session: JoinSession): string {
  if (session.success_url === null) return joinUrl(baseUrl(exchange), session.token);
  return withParameters(session.success_url, { join_session: session.id, status: session.status });
}
