import { z } from 'zod';
import type { JsonObject } from '../../domain/json.js';
import { findCompany } from '../catalog/rounds.js';
import { personView } from '../catalog/viewer.js';
import { pageVisible } from '../catalog/visibility.js';
import { type DisclosureKey, postComment } from '../companies/comments.js';
import { callerOf } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import type { Realm } from '../state/secrets.js';
import { one } from '../state/statements.js';
import type { IntentAction } from './action.js';

const disclosureKeys = ['investor', 'stockholder', 'promoter', 'financial_stakeholder'] as const;

const commentParams = z.strictObject({
  target_type: z.enum(['company', 'comment']),
  target: z.string().min(1).max(200).describe('co_ to ask, cmt_ to answer.'),
  body: z.string().trim().min(1).max(5000),
  disclosure_key: z.enum(disclosureKeys).optional(),
});

type Params = z.output<typeof commentParams>;

/** Returns the stored form: an omitted parameter has no key. */
const withoutGaps = ({ disclosure_key, ...params }: Params): JsonObject =>
  disclosure_key === undefined ? params : { ...params, disclosure_key };

interface Draft {
  readonly companyNo: number;
  readonly companyId: string;
  readonly companyName: string;
  /** Null for a question; for an answer, the row number of its question. */
  readonly questionNo: number | null;
  readonly question: string | null;
}

const refused = (why: string): Problem => new Problem(422, 'unprocessable_entity', why);

/** Checks and returns the draft, both when it is proposed and again when it is approved. */
function draftOf(services: Services, realm: Realm, userNo: number, companyId: string, params: Params): Draft {
  const { state } = services;
  const company = findCompany(state, realm, companyId);
  const viewer = personView(state, realm, userNo);
  if (company === undefined || !pageVisible(company, viewer)) throw notFound('The company');
  const draft = {
    companyNo: company.company_no,
    companyId: company.company_id,
    companyName: company.company_name,
  };
  if (params.target_type === 'company') {
    if (params.target !== company.company_id)
      throw refused('target: a question must be addressed to the company in resource_id.');
    if (questionsClosed(services, company.company_no))
      throw refused('The company does not accept questions.');
    return { ...draft, questionNo: null, question: null };
  }
  const question = one<{ no: number; body: string }>(
    state,
    `SELECT no, body FROM comments
     WHERE id = ? AND company_no = ? AND question_no IS NULL AND deleted_at IS NULL`,
    [params.target, company.company_no],
  );
  if (question === undefined) throw refused('The question to answer is not one of this company.');
  if (!viewer.teamOf.has(company.company_no)) throw refused('Only the team of the company may answer.');
  return { ...draft, questionNo: question.no, question: question.body };
}

const questionsClosed = (services: Services, companyNo: number): boolean =>
  one<{ closed: number }>(
    services.state,
    'SELECT questions_closed AS closed FROM company_profiles WHERE company_no = ?',
    [companyNo],
  )?.closed === 1;

/** A question or answer in the name of a user: the application drafts it, and only that user may approve posting it. */
export const commentAction: IntentAction = {
  name: 'comments.create',
  scope: 'write:comments',
  resourceType: 'Company',
  decidedBy: 'proposer',
  dailyLimit: 'commentProposals',
  params: commentParams.transform(withoutGaps),
  propose(exchange, resourceId, params) {
    const caller = callerOf(exchange);
    if (caller.kind !== 'user') {
      throw new Problem(
        403,
        'forbidden',
        'A comment is posted in the name of a person: use the token of one.',
      );
    }
    const asked = commentParams.parse(params);
    const draft = draftOf(exchange.services, caller.realm, caller.userNo, resourceId, asked);
    const lead =
      draft.question === null
        ? `Ask ${draft.companyName} in public, in your name:`
        : `Answer a question to ${draft.companyName} in public, in your name:\n\n“${draft.question}”\n\nYour answer:`;
    return { resourceId: draft.companyId, summary: `${lead}\n\n${asked.body}` };
  },
  mayDecide: (_services, intent, userNo) => intent.user_no === userNo,
  execute(services, intent, approverNo, now) {
    const params = commentParams.parse(JSON.parse(intent.params));
    const draft = draftOf(services, intent.realm, approverNo, intent.resource_id, params);
    const disclosureKey: DisclosureKey | null = params.disclosure_key ?? null;
    const { companyNo, questionNo } = draft;
    const wish = { companyNo, questionNo, authorNo: approverNo, body: params.body, disclosureKey };
    return { company: draft.companyId, comment: postComment(services, wish, now).id };
  },
};
