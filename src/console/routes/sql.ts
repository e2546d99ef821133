import { type Request, type Response, Router } from 'express';
import { Fault, isFault } from '../../domain/fault.js';
import { fieldOf } from '../guard/own-forms.js';
import { sqlBody } from '../pages/sql.js';
import type { QuerySeen } from '../ports/dashboard.js';
import { goneSignal, ownForm, type PageContext, sendFile } from './page-context.js';

/** Each query runs in a child process; more at once would slow down the sync. */
const runningMax = 2;

interface Answer {
  readonly result: QuerySeen | null;
  readonly problem: { readonly message: string; readonly hint: string | undefined } | null;
}

const nothing: Answer = { result: null, problem: null };

export function sqlRoutes(context: PageContext): Router {
  const { source } = context;
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
      if (identity) context.audit('query', { rows: result.rows.length });
      return { result, problem: null };
    } catch (error) {
      if (!isFault(error)) throw error;
      context.auditRefusal('query', identity);
      return { result: null, problem: { message: error.message, hint: error.about.hint } };
    }
  };

  const show = (request: Request, response: Response, sql: string, name: string, answer: Answer) => {
    const session = context.session(request, response);
    const body = sqlBody({
      sql,
      name,
      ...answer,
      queries: source.queries,
      limits: source.queryLimits,
      csrf: session.csrf,
      identityUntil: context.identityUntil(session),
    });
    const page = { title: 'SQL', place: '/sql', body, scripts: ['charts', 'query'] } as const;
    context.show(request, response, page, answer.problem === null ? 200 : 422);
  };

  // A ready query runs from its address. A typed query is sent in a form, because it may contain a name.
  router.get('/sql', async (request, response) => {
    const ready = source.queries.find(({ name }) => name === request.query.query);
    if (ready === undefined) return show(request, response, source.queries[0]?.sql ?? '', '', nothing);
    const identity = context.identityUntil(context.session(request, response)) !== null;
    show(request, response, ready.sql, ready.name, await answerTo(ready.sql, identity, response));
  });

  router.post('/sql', ...ownForm, async (request, response) => {
    // Browsers send the text of a form with \r\n.
    const sql = fieldOf(request, 'sql').replaceAll('\r\n', '\n');
    const identity = context.identityUntil(context.session(request, response)) !== null;
    if (fieldOf(request, 'do') !== 'file') {
      show(request, response, sql, '', await answerTo(sql, identity, response));
      return;
    }
    await taking(async () => {
      const pieces = await source.queryFile(sql, identity, goneSignal(response));
      if (identity) context.audit('query file', {});
      await sendFile(response, 'query.csv', pieces);
    }).catch((error: unknown) => {
      if (!isFault(error)) throw error;
      context.auditRefusal('query file', identity);
      if (response.headersSent) throw error;
      show(request, response, sql, '', {
        result: null,
        problem: { message: error.message, hint: error.about.hint },
      });
    });
  });
  return router;
}
