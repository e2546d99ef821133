import { type Response, Router, urlencoded } from 'express';
import { html } from '../runtime/html.js';
import type { Logger } from '../runtime/logger.js';
import { giveCookie, sessionOf, takeCookie, visitOf } from './guard/admit.js';
import type { Authenticator } from './guard/authenticator.js';
import { fieldOf, isOwnForm, isOwnOrigin, pathOf } from './guard/own-forms.js';
import type { Sessions } from './guard/sessions.js';
import { pageText } from './parts/layout.js';
import type { Actor } from './ports/operations.js';

export interface SignInParts {
  readonly authenticator: Authenticator;
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly version: string;
  /** Logs a sign-in. A failure does not prevent it: nothing is shown by it alone. */
  readonly audit: (actor: Actor, action: 'sign_in' | 'sign_out') => Promise<void>;
}

/** The page for entering the token. With a user and password, the browser has its own prompt. */
export function signInPages({ authenticator, sessions, logger, version, audit }: SignInParts): Router {
  const router = Router();
  const show = (response: Response, status: number, to: string, wrong: string | null) =>
    response
      .status(status)
      .type('html')
      .send(
        pageText(
          // Do not show the name of the platform before the sign-in.
          { mirrorOf: 'a platform', csrf: null, actor: null, signedIn: false, version },
          { title: 'Sign in', body: signInBody(to, wrong) },
        ),
      );
  router.get('/sign-in', (request, response) => {
    const { to } = request.query;
    show(response, 200, pathOf(typeof to === 'string' ? to : '/'), null);
  });
  router.post('/sign-in', urlencoded({ extended: false, limit: '8kb' }), async (request, response) => {
    const to = pathOf(fieldOf(request, 'to'));
    // Without a session there is no CSRF token yet, but the origin can be checked.
    if (!isOwnOrigin(request)) return refuseForgery(response);
    const judged = await authenticator.judgeToken(fieldOf(request, 'token').trim());
    if (judged.kind === 'admitted') {
      const { mark, actor } = judged;
      // The new cookie replaces that of the browser's last session, which could no longer be signed out of, so end it.
      const last = sessionOf(request, sessions, await authenticator.marks());
      if (last !== undefined) sessions.end(last);
      giveCookie(request, response, sessions.begin(true, mark, actor));
      logger.info({}, 'a user signed in at the console');
      await audit(actor, 'sign_in');
      response.redirect(303, to);
      return;
    }
    show(response, judged.kind === 'slow down' ? 429 : 401, to, 'Wrong token.');
  });
  return router;
}

function signInBody(to: string, wrong: string | null) {
  return html`<div class="narrow"><h1>Sign in</h1>
<p class="soft">Enter your token. The configuration names them in <code>console.auth</code>.</p>
<form method="post" action="/sign-in"><input type="hidden" name="to" value="${to}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus${wrong === null ? null : html` aria-invalid="true" aria-describedby="wrong"`}>
${wrong === null ? null : html`<p id="wrong" class="wrong">${wrong}</p>`}
<button class="primary">Sign in</button></form></div>`;
}

/** Mounted behind `admit`, because only a signed-in browser can sign out. */
export function signOut(sessions: Sessions, audit: SignInParts['audit']): Router {
  const router = Router();
  router.post('/sign-out', urlencoded({ extended: false, limit: '8kb' }), async (request, response) => {
    const { session } = visitOf(response);
    if (!isOwnForm(request, session)) return refuseForgery(response);
    if (session !== undefined) {
      sessions.end(session);
      await audit(session.actor, 'sign_out');
    }
    takeCookie(request, response);
    response.redirect(303, '/');
  });
  return router;
}

export function refuseForgery(response: Response): void {
  response
    .status(403)
    .type('text/plain')
    .send('this form was not sent from a page of this console, or its session has ended: reload the page\n');
}
