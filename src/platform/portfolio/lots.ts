import type { JsonObject } from '../../domain/json.js';
import { derive, type Source } from '../investments/derive.js';
import { loadInvestment } from '../investments/model.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all } from '../state/statements.js';

/** One active or executed investment with its cost and shares. */
export interface Lot {
  readonly source: Source;
  readonly costCents: number;
  readonly shares: string | null;
  readonly earlyBird: boolean;
}

const standing = `i.deleted_at IS NULL AND i.status IN ('active', 'executed')`;
const ofPersonSql = `SELECT i.no FROM investments i JOIN companies c ON c.no = i.company_no
  WHERE i.investor_no = ? AND c.realm = ? AND ${standing} ORDER BY i.no`;
const ofSyndicateSql = `SELECT i.no FROM investments i JOIN offerings o ON o.no = i.offering_no
  WHERE o.syndicate_no = ? AND ${standing} ORDER BY i.no`;

export const lotsOfPerson = (state: State, userNo: number, realm: Realm): readonly Lot[] =>
  lots(state, all(state, ofPersonSql, [userNo, realm]));

/** Returns the investments of all investors in the deals of a syndicate. */
export const lotsOfSyndicate = (state: State, syndicateNo: number): readonly Lot[] =>
  lots(state, all(state, ofSyndicateSql, [syndicateNo]));

/** Uses the same derivation as the investment records, so portfolio and records show the same amounts. */
function lots(state: State, rows: readonly { readonly no: number }[]): readonly Lot[] {
  return rows.flatMap(({ no }) => {
    const source = loadInvestment(state, no);
    const { content, raisedCents } = derive(source);
    if (raisedCents <= 0) return [];
    const contracts = content.contracts as readonly JsonObject[];
    return [
      {
        source,
        costCents: raisedCents,
        shares: typeof content.shares === 'string' ? content.shares : null,
        earlyBird: contracts.some((contract) => contract.early_bird === true),
      },
    ];
  });
}
