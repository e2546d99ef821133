import { type Html, html } from '../../runtime/html.js';
import type { Reply } from '../http/exchange.js';
import { pageReply } from '../pages/layout.js';
import { cookieOf, csrfField, type Person, realmBadge, signedIn, signInForms } from '../pages/parts.js';
import type { Visit } from '../pages/visit.js';
import type { IntentAction } from './action.js';
import type { Intent } from './model.js';

export interface Review {
  readonly intent: Intent;
  readonly action: IntentAction;
  readonly application: string;
  readonly visit: Visit;
}

function page(review: Review, status: number, title: string, body: Html): Reply {
  return pageReply({
    status,
    title: `${title} · ${review.application}`,
    body: html`${realmBadge(review.intent.realm)}${body}`,
    ...cookieOf(review.visit),
  });
}

/** The sign-in page. It shows nothing of the proposal before the visitor has signed in. */
export function askReviewer(review: Review, people: readonly Person[], unknownEmail: string | null): Reply {
  return page(
    review,
    unknownEmail === null ? 200 : 422,
    'Sign in',
    html`<h1>${review.application} asks for a decision</h1>
<p class="lead">This server has no passwords: sign in with an email address.</p>${signInForms(review.visit, people, unknownEmail)}`,
  );
}

export function mayNotDecide(review: Review, person: Person, why: string): Reply {
  return page(
    review,
    403,
    'You cannot decide this',
    html`<h1>You cannot decide this</h1><p class="lead">${why}</p>${signedIn(review.visit, person)}`,
  );
}

const about = ({
  intent,
  application,
}: Review): Html => html`<blockquote>${intent.impact_summary}</blockquote>
<dl><dt>Action</dt><dd><code>${intent.action}</code></dd><dt>Asked by</dt><dd>${application}${
  intent.requested_by_agent === null ? null : html`, for ${intent.requested_by_agent}`
}</dd></dl>`;

export function askDecision(review: Review, person: Person, problem: string | null): Reply {
  const { visit, intent } = review;
  return page(
    review,
    problem === null ? 200 : 422,
    'Review',
    html`<h1>${review.application} asks you to approve</h1>${about(review)}${signedIn(visit, person)}
<form method="post">${csrfField(visit)}<div class="actions"><button class="primary" name="action" value="approve">Approve</button></div></form>
<form method="post">${csrfField(visit)}<label for="reason">Or say why not</label>
<textarea id="reason" name="reason" rows="2" maxlength="500" required></textarea>
${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
<div class="actions"><button name="action" value="reject">Reject</button></div></form>
<p class="soft">Open until ${new Date(intent.expires_at).toUTCString()}.</p>`,
  );
}

const words: Readonly<Record<Exclude<Intent['status'], 'pending'>, readonly [string, string]>> = {
  approved: ['Approved', 'The action is about to run.'],
  executing: ['Approved', 'The action is running.'],
  executed: ['Done', 'The action was approved and has been done.'],
  rejected: ['Rejected', 'The action will not be carried out.'],
  expired: ['Too late', 'Nobody decided in time, or the application lost its access. Nothing was done.'],
  failed: ['It could not be done', 'It was approved, but nothing was changed.'],
};

export function decided(review: Review, person: Person): Reply {
  const { intent, visit } = review;
  if (intent.status === 'pending') throw new Error('a pending intent is not decided');
  const [title, text] = words[intent.status];
  const reason = intent.rejection_reason ?? intent.failure_reason;
  return page(
    review,
    200,
    title,
    html`<h1>${title}</h1><p class="lead">${text}</p>${reason === null ? null : html`<p>${reason}</p>`}${about(review)}${signedIn(visit, person)}`,
  );
}
