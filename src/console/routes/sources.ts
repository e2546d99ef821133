import { Router } from 'express';
import { problemBody } from '../pages/problem.js';
import { sourceBody } from '../pages/source.js';
import { sourcesBody } from '../pages/sources.js';
import { sourcesAddressFrom } from '../pages/sources-address.js';
import type { PageContext } from './page-context.js';

const rowsPerPage = 50;

/** The pages of all sources, and of one. */
export function sourceRoutes(context: PageContext): Router {
  const { source } = context;
  const router = Router();
  router.get('/sources', async (request, response) => {
    const { originalUrl: url } = request;
    const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
    const address = sourcesAddressFrom(query);
    const seen = await source.sources({ ...address, limit: rowsPerPage });
    const body = sourcesBody({ address: { ...address, page: seen.page }, seen });
    context.show(request, response, { title: 'Sources', place: '/sources', body });
  });
  router.get('/sources/:source', async (request, response) => {
    const seen = await source.source(request.params.source);
    if (seen === null) {
      const body = problemBody('No such source', 'Neither the mirror nor the configuration has it.');
      context.show(request, response, { title: 'No such source', place: '/sources', body }, 404);
      return;
    }
    const session = context.session(request, response);
    const { flash } = session;
    session.flash = null;
    const body = sourceBody({ seen, flash, mayAct: context.may(response, 'act') });
    context.show(request, response, { title: seen.source, place: '/sources', body });
  });
  return router;
}
