import type { Json, JsonObject } from '../../domain/json.js';
import type { Round } from '../catalog/rounds.js';
import { exemptionOf } from '../catalog/securities.js';
import type { getDisclosures } from '../contract/company-disclosures.js';
import { type DisclosureSection, disclosureSections } from '../contract/vocabulary.js';
import { type Exchange, ok, type Reply } from '../http/exchange.js';
import { wordsOf } from '../http/list-parameter.js';
import { Problem } from '../http/problem.js';
import { one } from '../state/statements.js';
import { visitPage } from './find.js';
import { ratiosOf } from './ratios.js';
import { visibleRounds } from './record.js';

interface Row {
  readonly financials_currency: string;
  readonly filed: number;
  readonly sec_filing_url: string | null;
  readonly statement_date: string | null;
  readonly fiscal_year_end: string | null;
  readonly sections: string;
  readonly hidden: string;
}

export function answerDisclosures(exchange: Exchange<typeof getDisclosures>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const asked = wordsOf('sections', query.sections, disclosureSections) ?? disclosureSections;
  const { company, viewer } = visitPage(exchange);
  const filing = visibleRounds(services, company.company_no, viewer, now).flatMap((round) => {
    const row = hasFormC(round)
      ? one<Row>(services.state, 'SELECT * FROM disclosures WHERE offering_no = ?', [round.no])
      : undefined;
    return row === undefined ? [] : [{ round, row }];
  })[0];
  if (filing === undefined) {
    throw new Problem(404, 'no_disclosures', 'This company has no Reg CF or ECSP round with a Form C.');
  }
  const { round, row } = filing;
  return ok({
    data: {
      id: company.company_id,
      type: 'company_disclosures',
      attributes: {
        offering_id: round.id,
        currency: round.exemption === 'ecsp' ? 'EUR' : round.currency.toUpperCase(),
        financials_currency: row.financials_currency,
        filing: {
          exemption: exemptionOf(round.exemption, round.exemption_subtype),
          sec_filing_url: row.sec_filing_url,
          filed: row.filed === 1,
          statement_date: row.statement_date,
          fiscal_year_end: row.fiscal_year_end,
        },
        ...sectionsOf(row, asked),
      },
    },
  });
}

const hasFormC = (round: Round): boolean =>
  (round.exemption === 'reg_cf' || round.exemption === 'ecsp') && round.form_c_url !== null;

function sectionsOf(row: Row, asked: readonly DisclosureSection[]): JsonObject {
  const stored = JSON.parse(row.sections) as JsonObject;
  const hidden = new Set(JSON.parse(row.hidden) as string[]);
  // The ratios would reveal the hidden statements.
  if (hidden.has('financial_statements')) hidden.add('ratios');
  const section = (name: DisclosureSection): Json => {
    if (hidden.has(name)) return null;
    switch (name) {
      case 'ratios':
        return ratiosOf(stored);
      case 'current_position':
        return stored[name] == null
          ? null
          : { currency: row.financials_currency, ...(stored[name] as JsonObject) };
      case 'outstanding_notes':
        return stored[name] == null ? null : (stored[name] as readonly JsonObject[]).map(withUncapped);
      default:
        return stored[name] ?? null;
    }
  };
  return Object.fromEntries(asked.map((name) => [name, section(name)]));
}

/** Adds `uncapped`, derived from the valuation cap. */
const withUncapped = (note: JsonObject): JsonObject => ({
  ...note,
  valuation_cap: note.valuation_cap ?? null,
  uncapped: note.valuation_cap == null,
});
