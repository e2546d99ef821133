import type { Reply } from '../http/exchange.js';
import type { Member } from '../members/model.js';
import { type Html, html } from '../pages/html.js';
import { pageReply, sourceOf } from '../pages/layout.js';
import type { Visit } from '../pages/visit.js';
import type { Syndicate } from '../syndicates/model.js';
import type { Link } from './link.js';

type SignedIn = NonNullable<Visit['user']>;

const badge = ({ realm }: Syndicate): Html | null =>
  realm === 'test' ? html`<p class="badge">Sandbox</p>` : null;

const csrfField = (visit: Visit): Html => html`<input type="hidden" name="csrf" value="${visit.csrf}">`;

const personBlock = (visit: Visit, person: SignedIn): Html =>
  html`<form method="post">${csrfField(visit)}<div class="person"><span><strong>${person.name}</strong><br><span class="soft">${person.email}</span></span><button class="link" name="action" value="sign_out">Not you?</button></div></form>`;

const cookieOf = (visit: Visit): { cookie?: string } =>
  visit.cookie === undefined ? {} : { cookie: visit.cookie };

/** A page with nothing to answer. */
export const noticePage = (status: number, title: string, why: string): Reply =>
  pageReply({ status, title, body: html`<h1>${title}</h1><p class="lead">${why}</p>` });

/** Whose link it is stays unsaid: whoever found it learns no address from it. */
export function signInPage(link: Link, visit: Visit, unknownEmail: string | null): Reply {
  const { syndicate } = link;
  const body = html`${badge(syndicate)}<h1>Join ${syndicate.name}</h1>
<p class="lead">This link is for one person. Sign in with the address it was sent to; this server keeps no passwords.</p>
<form method="post">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${unknownEmail ?? ''}">
${unknownEmail === null ? null : html`<p class="bad" role="alert">Nobody here has this address.</p>`}
<div class="actions"><button class="primary">Continue</button></div>
</form>`;
  return pageReply({
    status: unknownEmail === null ? 200 : 422,
    title: `Join ${syndicate.name}`,
    body,
    ...cookieOf(visit),
  });
}

export function wrongPersonPage(link: Link, visit: Visit, person: SignedIn): Reply {
  const body = html`${badge(link.syndicate)}<h1>This link is for somebody else</h1>
<p class="lead">It can be used only with the address it was sent to.</p>${personBlock(visit, person)}`;
  return pageReply({ status: 403, title: 'Not for this account', body, ...cookieOf(visit) });
}

export function askPage(link: Link, visit: Visit, person: SignedIn): Reply {
  const { syndicate } = link;
  const asker =
    link.kind === 'session' ? html`<strong>${link.session.app_name}</strong> asks for you: ` : null;
  const body = html`${badge(syndicate)}<h1>Join ${syndicate.name}?</h1>
${syndicate.tagline === null ? null : html`<p class="lead">${syndicate.tagline}</p>`}
<p>${asker}the people who run the syndicate will see your name, your email address and what you invest in its deals.</p>
${personBlock(visit, person)}
<form method="post">${csrfField(visit)}<div class="actions"><button name="action" value="decline">Decline</button><button class="primary" name="action" value="join">Join</button></div></form>`;
  const leadsTo = link.kind === 'session' ? link.session.success_url : null;
  return pageReply({
    title: `Join ${syndicate.name}`,
    body,
    ...(leadsTo === null ? {} : { leadsTo: sourceOf(leadsTo) }),
    ...cookieOf(visit),
  });
}

/** Where the person stands now, with the one way out there is from here. */
export function standingPage(link: Link, visit: Visit, person: SignedIn, member: Member): Reply {
  const { syndicate } = link;
  const words = wordsFor(member, syndicate);
  const way = words.action;
  // The link of an invitation ends with the answer: there is no address to send the next one to.
  const form =
    way === null || link.kind === 'invitation'
      ? null
      : html`<form method="post">${csrfField(visit)}<div class="actions"><button name="action" value="${way.value}">${way.label}</button></div></form>`;
  const body = html`${badge(syndicate)}<h1>${words.title}</h1><p class="lead">${words.lead}</p>${personBlock(visit, person)}${form}`;
  return pageReply({ title: `${words.title} · ${syndicate.name}`, body, ...cookieOf(visit) });
}

interface Words {
  readonly title: string;
  readonly lead: string;
  readonly action: { readonly value: 'leave' | 'withdraw'; readonly label: string } | null;
}

function wordsFor(member: Member, { name }: Syndicate): Words {
  switch (member.standing) {
    case 'member':
      return {
        title: 'You are a member',
        lead: `You belong to ${name}.`,
        action: member.role === 'creator' ? null : { value: 'leave', label: 'Leave the syndicate' },
      };
    case 'applicant':
      return {
        title: 'Your application is in',
        lead: `The people who run ${name} decide about it.`,
        action: { value: 'withdraw', label: 'Withdraw the application' },
      };
    default:
      return { title: 'You are not a member', lead: `You do not belong to ${name}.`, action: null };
  }
}
