import { type Request, type Response, Router } from 'express';
import { defined } from '../../domain/defined.js';
import { isFault } from '../../domain/fault.js';
import { storableText } from '../../domain/text.js';
import { fieldOf } from '../guard/own-forms.js';
import { problemBody } from '../pages/problem.js';
import { noPastRoster, rosterBody } from '../pages/roster.js';
import { addressFrom, rosterPath, searchedFor, wantedFrom } from '../pages/roster-address.js';
import { asOfFrom, pastOrProblem } from './as-of.js';
import { goneSignal, ownForm, type PageContext, sendFile } from './page-context.js';

const rowsPerPage = 50;
/**
 * The time to take a file: a large roster over a slow line. Until its end it is read from one snapshot, so SQLite's log
 * grows, and no erased byte is overwritten.
 */
const sendMillisMax = 15 * 60_000;
/** Each file is read on a connection of its own until its client has taken it. */
const sendingMax = 4;
const textMax = 200;
/** The beginning of an id, with the characters that ids may have. */
const idText = /^(?:invt?|usr|ofr|co)_[\w-]*$/;

const queryOf = (path: string): URLSearchParams =>
  new URLSearchParams(path.includes('?') ? path.slice(path.indexOf('?')) : '');

export function rosterRoutes(context: PageContext): Router {
  const { source, clock } = context;
  const router = Router();
  router.get('/roster', async (request, response) => {
    const session = context.session(request, response);
    const identityUntil = context.identityUntil(session);
    const identity = identityUntil !== null;
    const address = addressFrom(queryOf(request.originalUrl));
    const text = session.names.textOf(address.search);
    const now = clock.now();
    const past = await pastOrProblem(async () => {
      const asOf = asOfFrom(address.asOf, now);
      // One row more than the page shows whether there is a next page.
      const wanted = wantedFrom(address, text, identity, rowsPerPage + 1, asOf?.at);
      const seen = await source.roster(wanted, goneSignal(response));
      return { asOf, seen };
    });
    if (isFault(past)) {
      const body = noPastRoster(past, address.asOf, now);
      return context.show(request, response, { title: 'Roster', place: '/roster', body }, 422);
    }
    const { asOf, seen } = past;
    if (identity)
      await context.audit(response, 'read_roster', { rows: Math.min(seen.rows.length, rowsPerPage) });
    const body = rosterBody({
      address,
      seen,
      identityUntil,
      mayShowNames: context.may(response, 'names'),
      csrf: session.csrf,
      text,
      rowsMax: rowsPerPage,
      asOf,
      now,
    });
    context.show(request, response, { title: 'Roster', place: '/roster', body });
  });

  router.post('/roster/find', ...ownForm, (request, response) => {
    const session = context.session(request, response);
    const text = storableText(fieldOf(request, 'text').trim().slice(0, textMax));
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    const { id: _, ...filter } = address.filter;
    const narrowed = idText.test(text)
      ? { filter: { ...filter, id: text }, search: '' }
      : { filter, search: text === '' ? '' : session.names.keyOf(text) };
    response.redirect(303, rosterPath(address, { ...narrowed, after: null }));
  });

  const sendRoster = async (request: Request, response: Response): Promise<void> => {
    const session = context.session(request, response);
    const shown = context.identityUntil(session) !== null;
    const identity = shown && fieldOf(request, 'identity') === 'yes';
    const format = fieldOf(request, 'format') === 'jsonl' ? 'jsonl' : 'csv';
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    // The search filters the file as it filters the page: by names of people too, or not. When that is not possible any
    // more, the file would have other rows than the page, so it is refused.
    const text = session.names.textOf(address.search);
    const withPeople = fieldOf(request, 'people') !== 'no';
    if (address.search !== '' && (text === undefined || (withPeople && !shown))) {
      const body = problemBody(
        'Search again',
        'The name you searched for is no longer stored, or names are masked again.',
      );
      context.show(request, response, { title: 'Search again', place: '/roster', body }, 409);
      return;
    }
    const failed = await pastOrProblem(async () => {
      const at = asOfFrom(address.asOf, clock.now())?.at;
      const filter = searchedFor(address, text, withPeople);
      if (identity) await context.audit(response, 'download_roster', {});
      await source.rosterFile({ filter, identity, ...defined({ asOf: at }) }, format, (pieces) =>
        sendFile(response, `roster.${format}`, pieces, { ...context, millisMax: sendMillisMax }),
      );
    });
    if (!isFault(failed)) return;
    if (response.headersSent) throw failed;
    const body = noPastRoster(failed, address.asOf, clock.now());
    context.show(request, response, { title: 'Roster', place: '/roster', body }, 422);
  };

  let sending = 0;
  router.post('/roster/file', ...ownForm, async (request, response) => {
    if (sending >= sendingMax) {
      const body = problemBody(
        'Too many downloads',
        `${sendingMax} files are being downloaded already.`,
        'Download it again when one of them has ended. `rosterd export` has no such limit.',
      );
      context.show(request, response, { title: 'Too many downloads', place: '/roster', body }, 429);
      return;
    }
    sending += 1;
    try {
      await sendRoster(request, response);
    } finally {
      sending -= 1;
    }
  });
  return router;
}
