import { tabPerPage } from '../../wire/limits.js';
import type { CompanyRow } from '../catalog/rounds.js';
import { siteUrl } from '../catalog/site.js';
import type { listQuestions } from '../contract/company-tabs.js';
import type { questionSorts } from '../contract/vocabulary.js';
import { type Exchange, ok, type Reply } from '../http/exchange.js';
import { type Position, pageOf, pageSizeOf } from '../http/paging.js';
import { badParameter } from '../http/problem.js';
import type { Services } from '../services.js';
import { answeredByTeam, type Comment, type Question, questionsOf } from './comments.js';
import { visitPage } from './find.js';
import { matchOf, parseQuestionQuery, type QuestionQuery } from './question-search.js';
import { liveLegs, visibleRounds } from './record.js';

type Sort = (typeof questionSorts)[number] | 'search';

interface Found extends Question {
  readonly match: 'question' | 'answer' | null;
}

const yes = (is: boolean): number => (is ? 0 : 1);

const places: Readonly<Record<Sort, (question: Found) => Position>> = {
  relevance: (q) => [-q.highlighted, yes(q.answers.length > 0), -q.likes_count, -q.created_at, q.id],
  recent: (q) => [-q.created_at, q.id],
  upvoted: (q) => [-q.likes_count, -q.created_at, q.id],
  unanswered: (q) => [yes(q.answers.length === 0), -q.created_at, q.id],
  search: (q) => [yes(q.match === 'question'), -q.likes_count, -q.created_at, q.id],
};

const queryBytesMax = 200;

export function answerQuestions(exchange: Exchange<typeof listQuestions>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const search = searchOf(query.q);
  const { company, viewer } = visitPage(exchange);
  const sort: Sort = search === null ? (query.sort ?? 'relevance') : 'search';
  const pastRaises = query.past_raises === 'true';
  const unanswered = query.unanswered_by_team === 'true';
  const raise = liveLegs(visibleRounds(services, company.company_no, viewer, now));
  const since = raise.length === 0 ? null : Math.min(...raise.map((leg) => leg.started_at ?? leg.created_at));
  const found = questionsOf(services.state, company.company_no)
    .filter((question) => pastRaises || since === null || question.created_at >= since)
    .filter((question) => !unanswered || !answeredByTeam(question))
    .map((question) => ({ ...question, match: search === null ? null : matchOf(search, question) }))
    .filter((question) => search === null || question.match !== null);
  const page = pageOf(services.state, found, places[sort], {
    cursor: query.cursor,
    size: pageSizeOf(query.per_page, tabPerPage),
    list: `questions:${company.company_id}:${sort}`,
  });
  return ok({
    data: page.items.map((question) => questionResource(services, company, question)),
    meta: {
      company: company.company_id,
      sort,
      q: search === null ? null : (query.q ?? null),
      unanswered_by_team: unanswered,
      past_raises: pastRaises,
      questions_since: pastRaises || since === null ? null : new Date(since).toISOString().slice(0, 10),
      total: found.length,
      ...page.meta,
    },
  });
}

function searchOf(q: string | undefined): QuestionQuery | null {
  if (q === undefined) return null;
  if (Buffer.byteLength(q) > queryBytesMax)
    throw badParameter('q', `q must be at most ${queryBytesMax} bytes.`);
  return parseQuestionQuery(q);
}

const questionResource = (services: Services, company: CompanyRow, question: Found): object => ({
  id: question.id,
  type: 'company_question',
  attributes: {
    question: question.body,
    asked_at: new Date(question.created_at).toISOString(),
    asked_by: personOf(question),
    likes_count: question.likes_count,
    highlighted: question.highlighted === 1,
    answered_by_team: answeredByTeam(question),
    match: question.match,
    answers: question.answers.map((answer) => ({
      id: answer.id,
      answer: answer.body,
      answered_at: new Date(answer.created_at).toISOString(),
      answered_by: personOf(answer),
      likes_count: answer.likes_count,
    })),
    url: siteUrl(services, company.slug, 'questions', question.id),
  },
});

/** Returns the author with a role: the team role, or the disclosed one. A closed account has no name. */
function personOf(comment: Comment): object {
  const gone = comment.author_gone === 1;
  const role =
    comment.tier === null ? comment.disclosure_key : comment.tier === 'founder' ? 'founder' : 'employee';
  return {
    id: gone ? null : comment.author_id,
    name: gone ? null : comment.author_name,
    role,
    team: comment.tier !== null,
  };
}
