import { Router } from 'express';
import type { Closable } from '../../runtime/lifecycle.js';
import { createLive, markOf } from '../live.js';
import { operationsBody, operationsParts } from '../pages/operations.js';
import type { PageContext } from './page-context.js';

export function operationsRoutes(context: PageContext): Closable & { readonly router: Router } {
  const { source, clock, logger } = context;
  const router = Router();
  const live = createLive({
    look: async () => {
      const seen = await source.operations();
      return { fragment: operationsParts(seen).text, mark: markOf(seen) };
    },
    onChange: (listener) => source.onChange(listener),
    clock,
    logger,
  });
  router.get('/operations', async (request, response) => {
    const body = operationsBody(await source.operations());
    context.show(request, response, { title: 'Operations', place: '/operations', body, scripts: ['live'] });
  });
  router.get('/operations/events', live.stream);
  return { router, close: () => live.close() };
}
