import { Router } from 'express';
import { fieldOf, pathOf } from '../guard/own-forms.js';
import { ownForm, type PageContext, shownMillis } from './page-context.js';

export function identityRoutes(context: PageContext): Router {
  const router = Router();
  router.post('/identity', ...ownForm, (request, response) => {
    const session = context.session(request, response);
    const show = fieldOf(request, 'do') === 'show';
    session.identityUntil = show ? context.clock.now() + shownMillis : 0;
    // Masking also drops the names that were searched for.
    if (!show) session.names.forget();
    context.logger.info({}, show ? 'identity is shown on request' : 'identity is masked again');
    response.redirect(303, pathOf(fieldOf(request, 'to')));
  });
  return router;
}
