import { type Request, type Response, Router } from 'express';
import { Fault, isFault } from '../../domain/fault.js';
import { fieldOf } from '../guard/own-forms.js';
import { sqlBody } from '../pages/sql.js';
import type { QuerySeen } from '../ports/dashboard.js';
import { type Desk, goneSignal, ownForm, sendFile } from './page-context.js';

/** Each is a process of its own: more at once would take the machine from the sync. */
const runningMax = 2;

interface Answer {
  readonly result: QuerySeen | null;
  readonly problem: { readonly message: string; readonly hint: string | undefined } | null;
}

const nothing: Answer = { result: null, problem: null };

export function sqlRoutes(desk: Desk): Router {
  const { source } = desk;
  const router = Router();
  let running = 0;

  const taking = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= runningMax)
      throw new Fault('usage', 'two queries are running already', { hint: 'Run it again in a moment.' });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };

  const answerTo = async (sql: string, identity: boolean, response: Response): Promise<Answer> => {
    try {
      const result = await taking(() => source.query(sql, identity, goneSignal(response)));
      if (identity) desk.audit('query', { rows: result.rows.length });
      return { result, problem: null };
    } catch (error) {
      if (!isFault(error)) throw error;
      desk.auditRefusal('query', identity);
      return { result: null, problem: { message: error.message, hint: error.about.hint } };
    }
  };

  const show = (request: Request, response: Response, sql: string, name: string, answer: Answer) => {
    const session = desk.session(request, response);
    const body = sqlBody({
      ...{ sql, name, ...answer, queries: source.queries, limits: source.queryLimits },
      ...{ csrf: session.csrf, identityUntil: desk.identityUntil(session) },
    });
    const page = { title: 'SQL', place: '/sql', body, scripts: ['charts', 'query'] } as const;
    desk.show(request, response, page, answer.problem === null ? 200 : 422);
  };

  // A ready query is run at once; only what somebody typed travels in a form, for it may hold a name.
  router.get('/sql', async (request, response) => {
    const ready = source.queries.find(({ name }) => name === request.query.query);
    if (ready === undefined) return show(request, response, source.queries[0]?.sql ?? '', '', nothing);
    const identity = desk.identityUntil(desk.session(request, response)) !== null;
    show(request, response, ready.sql, ready.name, await answerTo(ready.sql, identity, response));
  });

  router.post('/sql', ...ownForm, async (request, response) => {
    // A browser sends the text of a form with \r\n.
    const sql = fieldOf(request, 'sql').replaceAll('\r\n', '\n');
    const identity = desk.identityUntil(desk.session(request, response)) !== null;
    if (fieldOf(request, 'do') !== 'file') {
      show(request, response, sql, '', await answerTo(sql, identity, response));
      return;
    }
    await taking(async () => {
      const pieces = await source.queryFile(sql, identity, goneSignal(response));
      if (identity) desk.audit('query file', {});
      await sendFile(response, 'query.csv', pieces);
    }).catch((error: unknown) => {
      if (!isFault(error)) throw error;
      desk.auditRefusal('query file', identity);
      if (response.headersSent) throw error;
      show(request, response, sql, '', {
        result: null,
        problem: { message: error.message, hint: error.about.hint },
      });
    });
  });
  return router;
}
