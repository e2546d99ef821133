import { Router } from 'express';
import { pastTime } from '../../domain/as-of.js';
import { isFault } from '../../domain/fault.js';
import type { Closable } from '../../runtime/lifecycle.js';
import { createLive, markOf } from '../live.js';
import { overviewBody, overviewParts, pastOverviewBody } from '../pages/overview.js';
import { asOfText, pastOrProblem } from './as-of.js';
import { goneSignal, type PageContext } from './page-context.js';

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
    const text = asOfText(request);
    if (text !== '') {
      const now = clock.now();
      const seen = await pastOrProblem(async () => {
        const at = pastTime(text, 'as-of', now);
        return { ...(await source.overviewAsOf(at, goneSignal(response))), text, at };
      });
      const page = { title: 'Overview', place: '/', body: pastOverviewBody(text, seen, now) } as const;
      return context.show(request, response, page, isFault(seen) ? 422 : 200);
    }
    const body = overviewBody(await source.overview());
    context.show(request, response, { title: 'Overview', place: '/', body, scripts: ['live'] });
  });
  router.get('/events', live.stream);
  return { router, close: () => live.close() };
}
