import { Router } from 'express';
import { fieldOf, pathOf } from '../guard/own-forms.js';
import { type Desk, ownForm, shownMillis } from './page-context.js';

export function identityRoutes(desk: Desk): Router {
  const router = Router();
  router.post('/identity', ...ownForm, (request, response) => {
    const session = desk.session(request, response);
    const show = fieldOf(request, 'do') === 'show';
    session.identityUntil = show ? desk.clock.now() + shownMillis : 0;
    // Names that were searched for are forgotten with the rest.
    if (!show) session.names.forget();
    desk.logger.info({}, show ? 'identity is shown on request' : 'identity is masked again');
    response.redirect(303, pathOf(fieldOf(request, 'to')));
  });
  return router;
}
