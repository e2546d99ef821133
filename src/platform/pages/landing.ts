import { defined } from '../../domain/defined.js';
import { type Html, html } from '../../runtime/html.js';
import type { Exchange, PostedForm, Reply } from '../http/exchange.js';
import type { Realm } from '../state/secrets.js';
import { pageReply, seeOther } from './layout.js';
import {
  cookieOf,
  csrfField,
  isForged,
  makePerson,
  noticePage,
  outdatedForm,
  type Person,
  peopleToChoose,
  personByEmail,
  realmBadge,
  signedIn,
  signInForms,
} from './parts.js';
import { endVisit, signIn, type Visit, visitOf } from './visit.js';

/** A page behind a link: it signs the visitor in and sends them on. */
export interface Landing {
  readonly realm: Realm;
  readonly title: string;
  readonly lead: Html;
  /** The recipient of the link. An account is created if they sign in with this email and have none. */
  readonly invited?: { readonly email: string; readonly name: string };
  /** External redirect target of the answers, see `Page`. */
  readonly leadsTo?: string;
  /** The actions of a signed-in visitor, by button value. */
  readonly answers: readonly {
    readonly value: string;
    readonly label: string;
    readonly primary?: boolean;
    go(user: NonNullable<Visit['user']>): Reply;
  }[];
}

const here = (exchange: Exchange): string =>
  exchange.query.size === 0 ? exchange.path : `${exchange.path}?${exchange.query}`;

export function showLanding(exchange: Exchange, landing: Landing, unknownEmail: string | null = null): Reply {
  const visit = visitOf(exchange);
  const question =
    visit.user === null ? askWho(exchange, landing, visit, unknownEmail) : next(landing, visit, visit.user);
  return pageReply({
    status: unknownEmail === null ? 200 : 422,
    title: landing.title,
    body: html`${realmBadge(landing.realm)}<h1>${landing.title}</h1>${landing.lead}${question}`,
    ...defined({ leadsTo: landing.leadsTo }),
    ...cookieOf(visit),
  });
}

const askWho = (exchange: Exchange, landing: Landing, visit: Visit, unknownEmail: string | null): Html =>
  html`<p class="soft">This server has no passwords: sign in with an email address.</p>${signInForms(visit, peopleToChoose(exchange, landing.realm), unknownEmail)}`;

function next(landing: Landing, visit: Visit, person: Person): Html {
  const buttons = landing.answers.map((answer) =>
    answer.primary === true
      ? html`<button class="primary" name="action" value="${answer.value}">${answer.label}</button>`
      : html`<button name="action" value="${answer.value}">${answer.label}</button>`,
  );
  return html`${signedIn(visit, person)}<form method="post">${csrfField(visit)}<div class="actions">${buttons}</div></form>`;
}

export function answerLanding(exchange: Exchange<PostedForm>, landing: Landing): Reply {
  const visit = visitOf(exchange);
  const form = exchange.input.body;
  if (isForged(visit, form)) return outdatedForm();
  if (form.action === 'sign_in') {
    const email = (form.email ?? '').trim();
    const person = personByEmail(exchange, email) ?? newcomer(exchange, landing, email);
    return person === undefined
      ? showLanding(exchange, landing, email)
      : seeOther(here(exchange), signIn(exchange, person.no));
  }
  if (form.action === 'sign_out') return seeOther(here(exchange), endVisit(exchange));
  if (visit.user === null) return seeOther(here(exchange));
  const answer = landing.answers.find(({ value }) => value === form.action);
  return answer === undefined
    ? noticePage(400, 'Unknown action', 'This form has no such action.')
    : answer.go(visit.user);
}

function newcomer(exchange: Exchange, landing: Landing, email: string): { readonly no: number } | undefined {
  const { invited } = landing;
  if (invited === undefined || invited.email.toLowerCase() !== email.toLowerCase()) return undefined;
  return { no: makePerson(exchange, invited.email, invited.name) };
}
