import type { CompanyRecord, RoundSummary } from './collections/companies.js';
import { firsts } from './firsts.js';
import type { Known, Row } from './ports.js';

/** A company as the platform answered: served, with a response that breaks the contract, or not served. */
export type CompanyFound =
  | { readonly kind: 'served'; readonly id: string; readonly record: CompanyRecord }
  | {
      readonly kind: 'unreadable';
      readonly id: string;
      readonly reason: string;
      readonly rounds: readonly RoundSummary[];
    }
  | { readonly kind: 'hidden'; readonly id: string; readonly reason: string };

/** A round to ask the platform for, with what is known of it without the answer. */
export interface MentionedRound {
  readonly id: string;
  /** What its company says of it. */
  readonly summary: RoundSummary | undefined;
  readonly isInvested: boolean;
  readonly companyId: string | null;
  readonly stored: Row | undefined;
  /** Whether the company of the stored round cannot be read now. */
  readonly companyIsUnreadable: boolean;
}

/** Returns the rounds that a company, an investment or a stored row of these companies names, in the order of their ids. */
export function mentionedRounds(
  companies: readonly CompanyFound[],
  { investedRounds, stored: storedRows }: Known,
): readonly MentionedRound[] {
  const invested = new Map(investedRounds.map((round) => [round.id, round]));
  const summaries = new Map(
    companies.flatMap((company) =>
      roundsOf(company).map((summary) => [summary.id, { summary, companyId: company.id }] as const),
    ),
  );
  const here = new Set<unknown>(companies.map(({ id }) => id));
  const unreadable = new Set<unknown>(
    companies.filter(({ kind }) => kind === 'unreadable').map(({ id }) => id),
  );
  const rows = firsts(storedRows.get('rounds') ?? [], ({ id }) => id);
  // A round without investments that its company no longer names may still be served, such as a canceled one.
  const stored = [...rows.values()].filter(({ company_id: company }) => here.has(company));
  const ids = new Set([...invested.keys(), ...summaries.keys(), ...stored.map(({ id }) => String(id))]);
  return [...ids].sort().map((id) => {
    const row = rows.get(id);
    return {
      id,
      summary: summaries.get(id)?.summary,
      isInvested: invested.has(id),
      companyId: summaries.get(id)?.companyId ?? invested.get(id)?.companyId ?? null,
      stored: row,
      companyIsUnreadable: unreadable.has(row?.company_id),
    };
  });
}

function roundsOf(company: CompanyFound): readonly RoundSummary[] {
  switch (company.kind) {
    case 'served':
      return company.record.rounds;
    case 'unreadable':
      return company.rounds;
    case 'hidden':
      return [];
  }
}
