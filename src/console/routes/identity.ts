import { Router } from 'express';
import { fieldOf, pathOf } from '../guard/own-forms.js';
import { ownForm, type PageContext } from './page-context.js';

export function identityRoutes(context: PageContext): Router {
  const router = Router();
  router.post('/identity', ...ownForm, async (request, response) => {
    if (!(await context.setIdentity(request, response, fieldOf(request, 'do') === 'show'))) return;
    response.redirect(303, pathOf(fieldOf(request, 'to')));
  });
  return router;
}
