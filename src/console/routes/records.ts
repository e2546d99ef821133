import { Router } from 'express';
import { problemBody } from '../pages/problem.js';
import { recordBody, titleOf } from '../pages/record.js';
import type { PageContext } from './page-context.js';

export function recordRoutes(context: PageContext): Router {
  const router = Router();
  router.get('/records/:source/:id', async (request, response) => {
    const { source, id } = request.params;
    const session = context.session(request, response);
    const identityUntil = context.identityUntil(session);
    const seen = await context.source.record(source, id, identityUntil !== null);
    if (seen === null) {
      const body = problemBody('No such record', 'This source has no version of this record.');
      context.show(request, response, { title: 'No such record', place: '/roster', body }, 404);
      return;
    }
    if (identityUntil !== null) await context.audit(response, 'read_record', { source, subject: id });
    const now = context.clock.now();
    const body = recordBody({
      source,
      id,
      seen,
      identityUntil,
      mayShowNames: context.may(response, 'names'),
      now,
      csrf: session.csrf,
    });
    context.show(request, response, { title: titleOf(seen.versions[0]), place: '/roster', body });
  });
  return router;
}
