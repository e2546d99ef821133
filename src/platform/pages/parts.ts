import { defined } from '../../domain/defined.js';
import { type Html, html } from '../../runtime/html.js';
import { isSameSecret } from '../../runtime/same-secret.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { newId, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';
import { pageReply } from './layout.js';
import type { Visit } from './visit.js';

export interface Person {
  readonly name: string;
  readonly email: string;
}

/** A longer list does not help. Anyone can use the email field. */
const peopleListedMax = 6;

/** Lists users to choose from, only in the sandbox, where people are invented. */
export function peopleToChoose(exchange: Exchange, realm: Realm): Person[] {
  if (realm === 'live') return [];
  return all<Person>(
    exchange.services.state,
    'SELECT name, email FROM users WHERE deactivated_at IS NULL ORDER BY no LIMIT ?',
    [peopleListedMax],
  );
}

export const personByEmail = (exchange: Exchange, email: string): { readonly no: number } | undefined =>
  one<{ no: number }>(
    exchange.services.state,
    'SELECT no FROM users WHERE lower(email) = lower(?) AND deactivated_at IS NULL',
    [email],
  );

/** Creates an account for the recipient of a link. */
export function makePerson(exchange: Exchange, email: string, name: string): number {
  const id = newId(exchange.services.random, 'usr_');
  return run(
    exchange.services.state,
    'INSERT INTO users (id, email, username, name, legal_name, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    [id, email, id.toLowerCase(), name, name, exchange.now],
  ).no;
}

export const realmBadge = (realm: Realm): Html | null =>
  realm === 'test' ? html`<p class="badge">Sandbox</p>` : null;

export const csrfField = (visit: Visit): Html =>
  html`<input type="hidden" name="csrf" value="${visit.csrf}">`;

/** Returns whether the form lacks the visit's CSRF token. A visit without a cookie cannot have received one. */
export const isForged = (visit: Visit, form: Readonly<Record<string, string>>): boolean =>
  visit.cookie !== undefined || !isSameSecret(form.csrf ?? '', visit.csrf);

export const cookieOf = (visit: Visit): { cookie?: string } => defined({ cookie: visit.cookie });

/** A page with a message only: no form, no link, no redirect. */
export function noticePage(status: number, title: string, why: string): Reply {
  return pageReply({ status, title, body: html`<h1>${title}</h1><p class="lead">${why}</p>` });
}

export const outdatedForm = (): Reply =>
  noticePage(403, 'This form is out of date', 'Open the link again. Cookies must be allowed for this page.');

/** Shows the signed-in user with a sign-out button. */
export const signedIn = (visit: Visit, person: Person): Html =>
  html`<form method="post">${csrfField(visit)}<div class="person"><span><strong>${person.name}</strong><br><span class="soft">${person.email}</span></span><button class="link" name="action" value="sign_out">Not you?</button></div></form>`;

export function signInForms(visit: Visit, people: readonly Person[], unknownEmail: string | null): Html {
  const list = people.map(
    (person) =>
      html`<button class="row" name="email" value="${person.email}"><strong>${person.name}</strong><span class="soft">${person.email}</span></button>`,
  );
  return html`${list.length === 0 ? null : html`<form method="post">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">${list}</form>`}
<form method="post">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${unknownEmail ?? ''}">
${unknownEmail === null ? null : html`<p class="bad" role="alert">No account has this email address.</p>`}
<div class="actions"><button class="primary">Continue</button></div>
</form>`;
}
