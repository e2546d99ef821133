import type { JsonObject } from '../../domain/json.js';
import { dollarsOf } from '../catalog/money.js';
import { findRound, type Round } from '../catalog/rounds.js';
import { securityKindOf } from '../catalog/securities.js';
import { siteUrl } from '../catalog/site.js';
import { writtenSum } from '../http/written-sum.js';
import type { Services } from '../services.js';
import type { Realm } from '../state/secrets.js';
import { all } from '../state/statements.js';
import type { Lot } from './lots.js';
import {
  multipleOf,
  type Outcome,
  outcomeOf,
  sharePriceOf,
  sharesOf,
  totalOf,
  type Worth,
  worthOf,
} from './valuation.js';

/** All investments in one offering. */
export interface Position {
  readonly round: Round;
  readonly lots: readonly Lot[];
  readonly outcome: Outcome;
  readonly worth: Worth;
  readonly investedAt: number;
}

export function positionsOf(
  services: Services,
  realm: Realm,
  lots: readonly Lot[],
  now: number,
): readonly Position[] {
  const ids = [...new Set(lots.map((lot) => lot.source.offering_id))];
  return ids.map((id) => {
    const round = findRound(services, realm, id, now);
    if (round === undefined) throw new Error('an investment in an offering of another realm');
    const own = lots.filter((lot) => lot.source.offering_id === id);
    const outcome = outcomeOf(services.state, round.no, now);
    return {
      round,
      lots: own,
      outcome,
      worth: totalOf(own.map((lot) => worthOf(lot, outcome))),
      investedAt: Math.max(...own.map((lot) => lot.source.applied_at)),
    };
  });
}

/** Whether a position is presented to its investor or to the syndicate of the deal. */
export type Perspective = 'investor' | 'syndicate';

export function positionResource(services: Services, position: Position, perspective: Perspective): object {
  const { round, lots, outcome } = position;
  const syndicate = perspective === 'syndicate';
  return {
    id: round.id,
    type: syndicate ? 'syndicate_portfolio_position' : 'portfolio_position',
    attributes: {
      offering_id: round.id,
      company: {
        id: round.company_id,
        name: round.company_name,
        slug: round.slug,
        url: siteUrl(services, round.slug),
      },
      asset_type: round.security_type === 'fund' ? 'fund' : 'company',
      security: securityOf(round),
      status: outcome.status,
      exit_reason: outcome.exit_reason,
      exited_on: outcome.exited_on,
      invested_at: new Date(position.investedAt).toISOString(),
      currency: round.currency,
      ...moneyOf(position.worth, lots, outcome),
      ...(syndicate ? { investor_count: investorsOf(lots) } : {}),
      securities: syndicate
        ? [{ ...holdingOf(round, lots, outcome), investor_count: investorsOf(lots) }]
        : lots.map((lot) => ({ ...holdingOf(round, [lot], outcome), owner: ownerOf(lot) })),
      holdings: holdingsOf(services, round),
      as_of: new Date(outcome.as_of).toISOString(),
    },
  };
}

export const investorsOf = (lots: readonly Lot[]): number =>
  new Set(lots.map((lot) => lot.source.investor_no)).size;

const securityOf = (round: Round) =>
  round.security_type === null ? null : securityKindOf(round.security_type);

const moneyOf = (worth: Worth, lots: readonly Lot[], outcome: Outcome) => ({
  cost_basis_cents: writtenSum(worth.cost),
  current_value_cents: writtenSum(worth.current),
  unrealized_gain_cents: writtenSum(worth.unrealized),
  realized_gain_cents: writtenSum(worth.realized),
  return_multiple: multipleOf(worth),
  shares_held: sharesOf(lots),
  current_share_price: sharePriceOf(lots, outcome),
});

function holdingOf(round: Round, lots: readonly Lot[], outcome: Outcome): object {
  return {
    security: securityOf(round),
    early_bird: lots.some((lot) => lot.earlyBird),
    terms: termsOf(round, lots[0]),
    ...moneyOf(totalOf(lots.map((lot) => worthOf(lot, outcome))), lots, outcome),
    invested_at: new Date(Math.max(...lots.map((lot) => lot.source.applied_at))).toISOString(),
  };
}

function termsOf(round: Round, lot: Lot | undefined): object {
  const terms = JSON.parse(round.security_terms) as JsonObject;
  const price = lot?.source.share_price_cents ?? null;
  const cap = Number(terms.valuation_cap_cents ?? 0);
  const discount = terms.discount_percent;
  const capped = round.security_type === 'safe' || round.security_type === 'convertible_note';
  return {
    share_price: price === null ? null : dollarsOf(price),
    note_cap_cents: cap === 0 ? null : cap,
    note_discount: typeof discount === 'string' && Number(discount) !== 0 ? discount : null,
    premoney_valuation_cents: terms.pre_money_valuation_cents ?? null,
    uncapped: capped && cap === 0,
  };
}

/** The name of the entity may be shown because the caller owns it. */
const ownerOf = ({ source }: Lot) =>
  source.entity_name === null ? { kind: 'individual' } : { kind: 'entity', name: source.entity_name };

function holdingsOf(services: Services, round: Round): readonly object[] {
  return all<{ id: string; name: string; status: string }>(
    services.state,
    `SELECT c.id, c.name, h.status FROM fund_holdings h JOIN companies c ON c.no = h.company_no
     WHERE h.offering_no = ? ORDER BY c.no`,
    [round.no],
  ).map(({ id, name, status }) => ({ company: { id, name }, status }));
}
