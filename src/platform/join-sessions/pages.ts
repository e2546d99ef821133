import { html } from '../../runtime/html.js';
import type { Reply } from '../http/exchange.js';
import type { Member } from '../members/model.js';
import { pageReply, sourceOf } from '../pages/layout.js';
import { cookieOf, csrfField, realmBadge, signedIn, signInForms } from '../pages/parts.js';
import type { Visit } from '../pages/visit.js';
import type { Syndicate } from '../syndicates/model.js';
import type { Link } from './link.js';

type SignedIn = NonNullable<Visit['user']>;

/** The sign-in page. It does not show the email the link was sent to. */
export function signInPage(link: Link, visit: Visit, unknownEmail: string | null): Reply {
  const { syndicate } = link;
  const body = html`${realmBadge(syndicate.realm)}<h1>Join ${syndicate.name}</h1>
<p class="lead">This link is for one person. Sign in with the email address it was sent to. This server has no passwords.</p>
${signInForms(visit, [], unknownEmail)}`;
  return pageReply({
    status: unknownEmail === null ? 200 : 422,
    title: `Join ${syndicate.name}`,
    body,
    ...cookieOf(visit),
  });
}

export function wrongPersonPage(link: Link, visit: Visit, person: SignedIn): Reply {
  const body = html`${realmBadge(link.syndicate.realm)}<h1>This link is for somebody else</h1>
<p class="lead">It can be used only with the address it was sent to.</p>${signedIn(visit, person)}`;
  return pageReply({ status: 403, title: 'Not for this account', body, ...cookieOf(visit) });
}

export function askPage(link: Link, visit: Visit, person: SignedIn): Reply {
  const { syndicate } = link;
  const asker =
    link.kind === 'session' ? html`<strong>${link.session.app_name}</strong> asks for you: ` : null;
  const body = html`${realmBadge(syndicate.realm)}<h1>Join ${syndicate.name}?</h1>
${syndicate.tagline === null ? null : html`<p class="lead">${syndicate.tagline}</p>`}
<p>${asker}the managers of the syndicate will see your name, your email address and what you invest in its deals.</p>
${signedIn(visit, person)}
<form method="post">${csrfField(visit)}<div class="actions"><button name="action" value="decline">Decline</button><button class="primary" name="action" value="join">Join</button></div></form>`;
  const leadsTo = link.kind === 'session' ? link.session.success_url : null;
  return pageReply({
    title: `Join ${syndicate.name}`,
    body,
    ...(leadsTo === null ? {} : { leadsTo: sourceOf(leadsTo) }),
    ...cookieOf(visit),
  });
}

/** Shows the person's current membership, with the one action available from there. */
export function standingPage(link: Link, visit: Visit, person: SignedIn, member: Member): Reply {
  const { syndicate } = link;
  const words = wordsFor(member, syndicate);
  const way = words.action;
  // The link of an invitation stops working once it is answered, so there is no URL to post another form to.
  const form =
    way === null || link.kind === 'invitation'
      ? null
      : html`<form method="post">${csrfField(visit)}<div class="actions"><button name="action" value="${way.value}">${way.label}</button></div></form>`;
  const body = html`${realmBadge(syndicate.realm)}<h1>${words.title}</h1><p class="lead">${words.lead}</p>${signedIn(visit, person)}${form}`;
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
        lead: `The managers of ${name} will review it.`,
        action: { value: 'withdraw', label: 'Withdraw the application' },
      };
    default:
      return { title: 'You are not a member', lead: `You do not belong to ${name}.`, action: null };
  }
}
