import { Router } from 'express';
import { storableText } from '../../domain/text.js';
import { fieldOf } from '../guard/own-forms.js';
import { problemBody } from '../pages/problem.js';
import { rosterBody } from '../pages/roster.js';
import { addressFrom, rosterPath, wantedFrom } from '../pages/roster-address.js';
import { type Desk, ownForm, sendFile } from './page-context.js';

const rowsPerPage = 50;
const textMax = 200;
const idText = /^(?:inv|usr|ofr|co)_\w*$/;

const queryOf = (path: string): URLSearchParams =>
  new URLSearchParams(path.includes('?') ? path.slice(path.indexOf('?')) : '');

export function rosterRoutes(desk: Desk): Router {
  const { source } = desk;
  const router = Router();
  router.get('/roster', async (request, response) => {
    const session = desk.session(request, response);
    const identityUntil = desk.identityUntil(session);
    const identity = identityUntil !== null;
    const address = addressFrom(queryOf(request.originalUrl));
    const person = session.names.textOf(address.search);
    // One more than is shown tells whether there is a next page.
    const seen = await source.roster(wantedFrom(address, person, identity, rowsPerPage + 1));
    if (identity) desk.audit('roster', { rows: Math.min(seen.rows.length, rowsPerPage) });
    const body = rosterBody({
      ...{ address, seen, identityUntil, csrf: session.csrf, person },
      rowsMax: rowsPerPage,
    });
    desk.show(request, response, { title: 'Roster', place: '/roster', body });
  });

  router.post('/roster/find', ...ownForm, (request, response) => {
    const session = desk.session(request, response);
    const text = storableText(fieldOf(request, 'text').trim().slice(0, textMax));
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    const { id: _, ...filter } = address.filter;
    const narrowed = idText.test(text)
      ? { filter: { ...filter, id: text }, search: '' }
      : { filter, search: text === '' ? '' : session.names.keyOf(text) };
    response.redirect(303, rosterPath(address, { ...narrowed, after: null }));
  });

  router.post('/roster/file', ...ownForm, async (request, response) => {
    const session = desk.session(request, response);
    const shown = desk.identityUntil(session) !== null;
    const identity = shown && fieldOf(request, 'identity') === 'yes';
    const format = fieldOf(request, 'format') === 'jsonl' ? 'jsonl' : 'csv';
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    // What was searched for narrows the file as it does the page, with names in it or without. Where it cannot, the
    // file would hold other rows than the page it was asked for on.
    const person = session.names.textOf(address.search);
    if (address.search !== '' && (!shown || person === undefined)) {
      const body = problemBody(
        'Search again',
        'The name you searched for is kept no more, or names are masked again.',
      );
      desk.show(request, response, { title: 'Search again', place: '/roster', body }, 409);
      return;
    }
    const { filter } = wantedFrom(address, person, shown, 0);
    if (identity) desk.audit('roster file', {});
    await source.rosterFile({ filter, identity }, format, (pieces) =>
      sendFile(response, `roster.${format}`, pieces),
    );
  });
  return router;
}
