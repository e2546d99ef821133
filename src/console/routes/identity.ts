import { Router } from 'express';
import { fieldOf, pathOf } from '../guard/own-forms.js';
import { ownForm, type PageContext } from './page-context.js';

export function identityRoutes(context: PageContext): Router {
  const router = Router();
  router.post('/identity', ...ownForm, (request, response) => {
    const session = context.session(request, response);
    context.setIdentity(session, fieldOf(request, 'do') === 'show');
    response.redirect(303, pathOf(fieldOf(request, 'to')));
  });
  return router;
}
