/*
 * Parses a record as quick hand-written code would: it checks no field and reads every one. One table with every
 * column the product stores, including the person; no raw text.
 */

interface Wire {
  readonly [name: string]: unknown;
}

const person = ['name', 'legal_name', 'email', 'address_line', 'city', 'state', 'postal_code', 'country'];

export const floorColumns = [
  ...['id', 'company_id', 'offering_id', 'investor_id', 'status', 'group_label', 'investment_type'],
  ...['offering_type', 'applied_at', 'currency', 'committed_cents', 'investment_size_cents'],
  ...['in_escrow_cents', 'raised_cents', 'shares', 'average_share_price', 'needs_whitelisting', 'visible'],
  ...['converted_to', 'converted_from', 'investor_deactivated', 'via_entity', 'blockers', 'contracts'],
  ...['observed_at', 'reason', 'extra', ...person, 'bio', 'message', 'external_username', 'email_hidden'],
] as const;

type Column = string | number | null;

export function floorValues(wire: Wire): Column[] {
  const amounts = (wire.amounts ?? {}) as Wire;
  const investor = (wire.investor ?? {}) as Wire;
  const address = (investor.address ?? {}) as Wire;
  return [
    ...[wire.id, wire.company, wire.offering, investor.id, wire.status, wire.group, wire.investment_type],
    ...[wire.offering_type, wire.applied_at, amounts.currency, amounts.committed_cents],
    ...[amounts.investment_size_cents, amounts.in_escrow_cents, amounts.raised_cents, wire.shares],
    ...[wire.average_share_price, wire.needs_whitelisting === true ? 1 : 0, wire.visible === true ? 1 : 0],
    ...[wire.converted_to, wire.converted_from, investor.deactivated === true ? 1 : 0],
    ...[investor.via_entity === true ? 1 : 0, JSON.stringify(wire.blockers), JSON.stringify(wire.contracts)],
    ...[wire.observed_at, wire.reason, null, investor.name, investor.legal_name, investor.email],
    ...[address.line, address.city, address.state, address.postal_code, address.country, investor.bio],
    ...[wire.message, wire.external_username, wire.company_email_hidden === true ? 1 : 0],
  ] as Column[];
}
