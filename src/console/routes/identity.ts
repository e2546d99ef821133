import { Router } from 'express';
import { fieldOf, pathOf } from '../guard/own-forms.js';
import { type Desk, ownForm } from './desk.js';

/** Long enough to do what one came for, short enough to be masked again when somebody else sits down. */
const shownMillis = 15 * 60_000;

export function identityRoutes(desk: Desk): Router {
  const router = Router();
  router.post('/identity', ...ownForm, (request, response) => {
    const session = desk.session(request, response);
    const show = fieldOf(request, 'do') === 'show';
    session.identityUntil = show ? desk.clock.now() + shownMillis : 0;
    // A name that was searched for is forgotten with the rest.
    if (!show) session.person = '';
    desk.logger.info({}, show ? 'identity is shown on request' : 'identity is masked again');
    response.redirect(303, pathOf(fieldOf(request, 'to')));
  });
  return router;
}
