import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId } from '../state/secrets.js';
import { all, run } from '../state/statements.js';

export type DisclosureKey = 'investor' | 'stockholder' | 'promoter' | 'financial_stakeholder';

export interface CommentWish {
  readonly companyNo: number;
  /** Null for a question; for an answer, the row number of its question. */
  readonly questionNo: number | null;
  readonly authorNo: number;
  readonly body: string;
  readonly disclosureKey: DisclosureKey | null;
}

/** Posts a question or an answer. The caller must have checked the author's permission. */
export function postComment(
  services: Pick<Services, 'state' | 'random'>,
  wish: CommentWish,
  now: number,
): { readonly no: number; readonly id: string } {
  const id = newId(services.random, 'cmt_');
  const { no } = run(
    services.state,
    `INSERT INTO comments (id, company_no, question_no, author_no, body, disclosure_key, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [id, wish.companyNo, wish.questionNo, wish.authorNo, wish.body, wish.disclosureKey, now],
  );
  return { no, id };
}

export interface Comment {
  readonly no: number;
  readonly id: string;
  readonly question_no: number | null;
  readonly body: string;
  readonly disclosure_key: DisclosureKey | null;
  readonly likes_count: number;
  readonly highlighted: number;
  readonly created_at: number;
  readonly author_id: string;
  readonly author_name: string;
  readonly author_gone: number;
  readonly tier: 'founder' | 'admin' | 'editor' | null;
}

export interface Question extends Comment {
  readonly answers: readonly Comment[];
}

/** Returns the visible questions of a company, each with its visible answers, oldest answer first. */
export function questionsOf(state: State, companyNo: number): readonly Question[] {
  const comments = all<Comment>(
    state,
    `SELECT m.no, m.id, m.question_no, m.body, m.disclosure_key, m.likes_count, m.highlighted, m.created_at,
       u.id AS author_id, u.name AS author_name, u.deactivated_at IS NOT NULL AS author_gone, t.tier
     FROM comments m JOIN users u ON u.no = m.author_no
     LEFT JOIN company_members t ON t.company_no = m.company_no AND t.user_no = m.author_no
     WHERE m.company_no = ? AND m.deleted_at IS NULL ORDER BY m.created_at, m.no`,
    [companyNo],
  );
  return comments
    .filter((comment) => comment.question_no === null)
    .map((question) => ({
      ...question,
      answers: comments.filter((comment) => comment.question_no === question.no),
    }));
}

export const answeredByTeam = (question: Question): boolean =>
  question.answers.some((answer) => answer.tier !== null);
