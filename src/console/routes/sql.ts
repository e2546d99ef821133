import { type Request, type Response, Router } from 'express';
import { Fault, isFault } from '../../domain/fault.js';
import { visitOf } from '../guard/admit.js';
import { fieldOf } from '../guard/own-forms.js';
import { isPlotChoice, type PlotChoice } from '../pages/plot.js';
import { type SqlProblem, sqlBody } from '../pages/sql.js';
import type { AsOf } from '../parts/as-of.js';
import type { QueryFormat, QueryReading, QuerySeen } from '../ports/query.js';
import { asOfFrom, asOfText } from './as-of.js';
import { goneSignal, ownForm, type PageContext, sendFile } from './page-context.js';

/** Each query runs in a child process; more at once would slow down the sync. */
const runningMax = 2;
/** The time to take a file, which counts as a running query until its end. */
const sendMillisMax = 2 * 60_000;

interface Answer {
  readonly result: QuerySeen | null;
  readonly problem: SqlProblem | null;
}

const problemOf = ({ message, about }: Fault): SqlProblem => ({
  message,
  hint: about.hint,
  place: about.place ?? null,
});

/** By the value of the button; `file` is what older pages send. */
const formats: Readonly<Record<string, QueryFormat>> = {
  file: 'csv',
  csv: 'csv',
  jsonl: 'jsonl',
  parquet: 'parquet',
  xlsx: 'xlsx',
};

const nothing: Answer = { result: null, problem: null };

/** What the page shows again: the statement, the name of a ready query or none, and the past time as it was typed. */
interface Typed {
  readonly sql: string;
  readonly name: string;
  readonly asOf: string;
  readonly chart: PlotChoice;
}

interface Reading {
  readonly identity: boolean;
  readonly audit: boolean;
  readonly asOf: string;
}

/** Throws `usage` for a text that is not a past time. */
function wantedBy({ identity, audit, asOf }: Reading, now: number): QueryReading {
  const past = asOfFrom(asOf, now);
  return past === null ? { identity, audit } : { identity, audit, asOf: past.at };
}

/** Returns null for a text that is not a past time; the query then fails with the reason. */
function pastOf(asOf: string, now: number): AsOf | null {
  try {
    return asOfFrom(asOf, now);
  } catch {
    return null;
  }
}

/** The date picker is a field of the form. A program may leave it out and name the time in the address. */
function asOfTyped(request: Request): string {
  const body = request.body as Readonly<Record<string, unknown>> | undefined;
  return body !== undefined && 'as-of' in body ? fieldOf(request, 'as-of') : asOfText(request);
}

export function sqlRoutes(context: PageContext): Router {
  const { source, clock } = context;
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

  const answerTo = async (sql: string, reading: Reading, response: Response): Promise<Answer> => {
    const { identity } = reading;
    try {
      const wanted = wantedBy(reading, clock.now());
      const result = await taking(() => source.query(sql, wanted, goneSignal(response)));
      if (identity) await context.audit(response, 'query', { rows: result.rows.length });
      return { result, problem: null };
    } catch (error) {
      await context.auditRefusal(response, 'query', identity, error);
      if (!isFault(error)) throw error;
      return { result: null, problem: problemOf(error) };
    }
  };

  const show = (request: Request, response: Response, typed: Typed, answer: Answer) => {
    const session = context.session(request, response);
    const now = clock.now();
    const body = sqlBody({
      ...typed,
      ...answer,
      source,
      csrf: session.csrf,
      actor: visitOf(response).actor.name,
      identityUntil: context.identityUntil(session),
      mayShowNames: context.may(response, 'names'),
      past: pastOf(typed.asOf, now),
      now,
    });
    const page = { title: 'SQL', place: '/sql', body, scripts: ['charts', 'query'] } as const;
    context.show(request, response, page, answer.problem === null ? 200 : 422);
  };

  // A ready query runs from its address. A typed query is sent in a form, because it may contain a name.
  router.get('/sql', async (request, response) => {
    const ready = source.queries.find(({ name }) => name === request.query.query);
    const asOf = asOfText(request);
    if (ready === undefined)
      return show(
        request,
        response,
        { sql: source.queries[0]?.sql ?? '', name: '', asOf, chart: 'auto' },
        nothing,
      );
    const { sql, name } = ready;
    const identity = context.identityUntil(context.session(request, response)) !== null;
    const audit = context.may(response, 'act');
    show(
      request,
      response,
      { sql, name, asOf, chart: 'auto' },
      await answerTo(sql, { identity, audit, asOf }, response),
    );
  });

  router.post('/sql', ...ownForm, async (request, response) => {
    // Browsers send the text of a form with \r\n.
    const sql = fieldOf(request, 'sql').replaceAll('\r\n', '\n');
    const chosen = fieldOf(request, 'chart');
    const chart = isPlotChoice(chosen) ? chosen : 'auto';
    const asOf = asOfTyped(request);
    const wanted = fieldOf(request, 'do');
    if (wanted === 'show' || wanted === 'mask') {
      if (!(await context.setIdentity(request, response, wanted === 'show'))) return;
      // What was typed is shown again and not run: it may be unfinished.
      return show(request, response, { sql, name: '', asOf, chart }, nothing);
    }
    const identity = context.identityUntil(context.session(request, response)) !== null;
    const audit = context.may(response, 'act');
    const typed = { sql, name: '', asOf, chart };
    const format = formats[wanted];
    if (format === undefined) {
      show(request, response, typed, await answerTo(sql, { identity, audit, asOf }, response));
      return;
    }
    await taking(async () => {
      const reading = wantedBy({ identity, audit, asOf }, clock.now());
      const pieces = await source.queryFile(sql, format, reading, goneSignal(response));
      if (identity) await context.audit(response, 'download_query', {});
      await sendFile(response, `query.${format}`, pieces, { ...context, millisMax: sendMillisMax });
    }).catch(async (error: unknown) => {
      await context.auditRefusal(response, 'download_query', identity, error);
      if (!isFault(error)) throw error;
      if (response.headersSent) throw error;
      show(request, response, typed, { result: null, problem: problemOf(error) });
    });
  });
  return router;
}
