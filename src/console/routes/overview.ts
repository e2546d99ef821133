import { Router } from 'express';
import type { Closable } from '../../runtime/lifecycle.js';
import { createLive } from '../live.js';
import { overviewBody, overviewParts } from '../pages/overview.js';
import type { PageContext } from './page-context.js';

export function overviewRoutes(context: PageContext): Closable & { readonly router: Router } {
  const { source, clock, logger } = context;
  const router = Router();
  const live = createLive({
    look: async () => {
      const seen = await source.overview();
      return { fragment: overviewParts(seen).text, mark: markOf(seen) };
    },
    onChange: (listener) => source.onChange(listener),
    clock,
    logger,
  });
  router.get('/', async (request, response) => {
    const body = overviewBody(await source.overview());
    context.show(request, response, { title: 'Overview', place: '/', body, scripts: ['live'] });
  });
  router.get('/events', live.stream);
  return { router, close: () => live.close() };
}

/** Serializes the overview without its own time and the ages derived from it. */
const markOf = (seen: object): string =>
  JSON.stringify(seen, (key, value: unknown) =>
    key === 'at' || key === 'cursor_age_seconds' ? undefined : value,
  );
