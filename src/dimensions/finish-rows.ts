import { hiddenCompany } from './collections/companies.js';
import type { RoundRecord } from './collections/rounds.js';
import { firsts } from './firsts.js';
import type { CompanyFound } from './mentioned-rounds.js';
import type { Known, Row } from './ports.js';
import { nameRounds } from './round-names.js';

export interface AllFound {
  readonly known: Known;
  readonly companies: readonly CompanyFound[];
  /** The names of the companies the person takes part in, by id. */
  readonly namesOfCompanies: ReadonlyMap<string, string | null>;
  /** Null when they were not listed. */
  readonly rounds: readonly RoundRecord[] | null;
  readonly stats: readonly Row[];
}

interface FinishedRows {
  readonly companies: readonly Row[];
  readonly rounds: readonly Row[];
}

/** Returns the rows of companies and rounds, which need what the other collections say: names and currencies. */
export function finishRows(found: AllFound): FinishedRows {
  const names = nameRounds(found.rounds ?? []);
  const currencyOf = currenciesOfRounds(found);
  const rounds = (found.rounds ?? []).map(({ row }) => ({
    ...row,
    name: names.get(String(row.id)) ?? null,
    currency: currencyOf(String(row.id)),
  }));
  return { rounds, companies: companyRows(found, currenciesOfCompanies(rounds)) };
}

/** Looks up the currency of a round: of its investments, else the one of its stats, else the one stored. */
function currenciesOfRounds({ known, stats }: AllFound): (id: string) => string | null {
  const invested = firsts(known.investedRounds, ({ id }) => id);
  const counted = firsts(stats, (row) => row.offering_id);
  const before = firsts(known.stored.get('rounds') ?? [], ({ id }) => id);
  return (id) => {
    const candidates = [invested, counted, before].map((rows) => rows.get(id)?.currency);
    return candidates.find((currency) => typeof currency === 'string') ?? null;
  };
}

function currenciesOfCompanies(rounds: readonly Row[]): ReadonlyMap<unknown, ReadonlySet<string>> {
  const currencies = new Map<unknown, Set<string>>();
  for (const { company_id: company, currency } of rounds) {
    if (typeof currency !== 'string') continue;
    const known = currencies.get(company);
    if (known === undefined) currencies.set(company, new Set([currency]));
    else known.add(currency);
  }
  return currencies;
}

function companyRows(
  { known, companies, namesOfCompanies, rounds }: AllFound,
  currencies: ReadonlyMap<unknown, ReadonlySet<string>>,
): readonly Row[] {
  const stored = firsts(known.stored.get('companies') ?? [], ({ id }) => id);
  const naming = (rounds ?? []).filter(({ companyName }) => companyName !== null);
  const named = firsts(naming, ({ row }) => row.company_id);
  return companies.map((company) => {
    const { id } = company;
    const before = stored.get(id);
    if (company.kind === 'unreadable' && before !== undefined) return before;
    const [first, ...others] = currencies.get(id) ?? [];
    const currency = others.length > 0 ? null : (first ?? before?.currency ?? null);
    if (company.kind === 'served') return { ...company.record.row, currency };
    const once = rounds === null && before?.unavailable === company.reason ? before?.name : null;
    const name =
      namesOfCompanies.get(id) ?? named.get(id)?.companyName ?? (typeof once === 'string' ? once : null);
    return { ...hiddenCompany(id, company.reason, name), currency };
  });
}
