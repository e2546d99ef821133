import { type Response, Router, urlencoded } from 'express';
import type { Logger } from '../runtime/logger.js';
import { giveCookie, sessionOf, takeCookie, visitOf } from './guard/admit.js';
import type { Door } from './guard/authenticator.js';
import { fieldOf, isOwnForm, isOwnOrigin, pathOf } from './guard/own-forms.js';
import type { Sessions } from './guard/sessions.js';
import { signInBody } from './pages/sign-in.js';
import { pageText } from './parts/layout.js';

export interface SignInParts {
  readonly door: Door;
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly version: string;
}

/** The page on which somebody types the token. With a user and password the browser asks by itself. */
export function signInPages({ door, sessions, logger, version }: SignInParts): Router {
  const router = Router();
  const show = (response: Response, status: number, to: string, wrong: string | null) =>
    response
      .status(status)
      .type('html')
      .send(
        pageText(
          // Whoever has not signed in is not told of whom this is a copy.
          { mirrorOf: 'a platform', csrf: null, signedIn: false, version },
          { title: 'Sign in', body: signInBody(to, wrong) },
        ),
      );
  router.get('/sign-in', (request, response) => {
    const { to } = request.query;
    show(response, 200, pathOf(typeof to === 'string' ? to : '/'), null);
  });
  router.post('/sign-in', urlencoded({ extended: false, limit: '8kb' }), async (request, response) => {
    const to = pathOf(fieldOf(request, 'to'));
    // There is no session yet whose token a form could carry; where it comes from is still told.
    if (!isOwnOrigin(request)) return refuseForgery(response);
    const judged = await door.judge(fieldOf(request, 'token').trim());
    if (judged === 'admitted') {
      const mark = await door.mark();
      // The cookie of the browser's last session is replaced, so nobody could sign out of that one any more.
      const last = sessionOf(request, sessions, mark);
      if (last !== undefined) sessions.end(last);
      giveCookie(request, response, sessions.begin(true, mark));
      logger.info({}, 'somebody signed in at the console');
      response.redirect(303, to);
      return;
    }
    show(response, judged === 'slow down' ? 429 : 401, to, 'This is not the token.');
  });
  return router;
}

/** Behind `admit`, since only who is in can go out. */
export function signOut(sessions: Sessions): Router {
  const router = Router();
  router.post('/sign-out', urlencoded({ extended: false, limit: '8kb' }), (request, response) => {
    const { session } = visitOf(response);
    if (!isOwnForm(request, session)) return refuseForgery(response);
    if (session !== undefined) sessions.end(session);
    takeCookie(request, response);
    response.redirect(303, '/');
  });
  return router;
}

export function refuseForgery(response: Response): void {
  response
    .status(403)
    .type('text/plain')
    .send(
      'this form was not sent from a page of this console, or its session is over: load the page again\n',
    );
}
