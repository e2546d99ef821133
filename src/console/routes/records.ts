import { Router } from 'express';
import { problemBody } from '../pages/problem.js';
import { recordBody } from '../pages/record.js';
import type { Desk } from './page-context.js';

export function recordRoutes(desk: Desk): Router {
  const router = Router();
  router.get('/records/:source/:id', async (request, response) => {
    const { source, id } = request.params;
    const session = desk.session(request, response);
    const identityUntil = desk.identityUntil(session);
    const seen = await desk.source.record(source, id, identityUntil !== null);
    if (seen === null) {
      const body = problemBody('No such record', 'No version of it was ever in this source of the mirror.');
      desk.show(request, response, { title: 'No such record', place: '/roster', body }, 404);
      return;
    }
    if (identityUntil !== null) desk.audit('record', { investment: id });
    const now = desk.clock.now();
    const body = recordBody({ source, id, seen, identityUntil, now, csrf: session.csrf });
    desk.show(request, response, { title: id, place: '/roster', body });
  });
  return router;
}
