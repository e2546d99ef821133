import { Router } from 'express';
import { storableText } from '../../domain/text.js';
import { fieldOf } from '../guard/own-forms.js';
import { rosterBody } from '../pages/roster.js';
import { addressFrom, rosterPath, wantedFrom } from '../pages/roster-address.js';
import { type Desk, ownForm, sendFile } from './desk.js';

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
    // One more than is shown tells whether there is a next page.
    const seen = await source.roster(wantedFrom(address, session.person, identity, rowsPerPage + 1));
    if (identity) desk.audit('roster', { rows: Math.min(seen.rows.length, rowsPerPage) });
    const body = rosterBody({
      ...{ address, seen, identityUntil, csrf: session.csrf, person: session.person },
      rowsMax: rowsPerPage,
    });
    desk.show(request, response, { title: 'Roster', place: '/roster', body });
  });

  router.post('/roster/find', ...ownForm, (request, response) => {
    const session = desk.session(request, response);
    const text = storableText(fieldOf(request, 'text').trim().slice(0, textMax));
    const { id: _, ...filter } = addressFrom(queryOf(fieldOf(request, 'to'))).filter;
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    const isId = idText.test(text);
    session.person = isId ? '' : text;
    const narrowed = isId ? { ...filter, id: text } : filter;
    response.redirect(303, rosterPath(address, { filter: narrowed, after: null }));
  });

  router.post('/roster/file', ...ownForm, async (request, response) => {
    const session = desk.session(request, response);
    const shown = desk.identityUntil(session) !== null;
    const identity = shown && fieldOf(request, 'identity') === 'yes';
    const format = fieldOf(request, 'format') === 'jsonl' ? 'jsonl' : 'csv';
    const address = addressFrom(queryOf(fieldOf(request, 'to')));
    // What was searched for narrows the file as it does the page, with names in it or without.
    const { filter } = wantedFrom(address, session.person, shown, 0);
    if (identity) desk.audit('roster file', {});
    await source.rosterFile({ filter, identity }, format, (pieces) =>
      sendFile(response, `roster.${format}`, pieces),
    );
  });
  return router;
}
