import { type ColumnEntry, column } from './column.js';

export const source = column('source', 'text', 'Name of the source in the configuration');

export const key: readonly ColumnEntry[] = [
  source,
  column('id', 'text', "The platform's id of the investment, stable for its life; unique within a source"),
];

/** The columns every form of a record has, in their order. */
export const record: readonly ColumnEntry[] = [
  column('company_id', 'text', 'Company that raises', 'the platform did not say'),
  column('offering_id', 'text', 'Offering (round) invested in', 'the platform did not say'),
  column('investor_id', 'text', 'Investor, as an id without a name', 'the platform did not say'),
  column(
    'status',
    'text',
    '`reserved`, `active`, `executed`, `needs_whitelisting`, `canceled` or `converted`; others may come',
  ),
  column('group_label', 'text', 'Bucket on the founder dashboard, such as `PENDING` or `CONFIRMED`', 'none'),
  column('investment_type', 'text', 'Label of the security, such as `SAFE`', 'not sent'),
  column('offering_type', 'text', 'Label of the exemption, such as `Reg CF`', 'not sent'),
  column('applied_at', 'time', 'When the investor committed', 'not sent'),
  column('currency', 'text', 'Lower-case ISO 4217 code of all amounts in the row', 'not sent'),
  column('committed_cents', 'cents', 'What the investor committed', 'not sent'),
  column(
    'investment_size_cents',
    'cents',
    'What is counted: the price of the shares where there are shares, else the commitment',
    'not sent',
  ),
  column('in_escrow_cents', 'cents', 'Funds held now', 'the platform does not say'),
  column(
    'raised_cents',
    'cents',
    'Contribution to the public raised figure, 0 until it counts. Sum this one to match the deal page',
    'a record older than the field',
  ),
  column('shares', 'decimal', 'Shares bought', 'the round has no shares, or they are not computed yet'),
  column('average_share_price', 'decimal', 'Weighted average price of a share', '`shares` is null'),
  column('needs_whitelisting', 'flag', '1 while the investor waits to be let in'),
  column('visible', 'flag', '1 if founders see it on the platform'),
  column('converted_to', 'text', 'Investment this one became in another round', 'not converted'),
  column('converted_from', 'text', 'Investment this one came from', 'not the result of a conversion'),
  column('investor_deactivated', 'flag', "1 once the investor's account is gone"),
  column('via_entity', 'flag', '1 if invested through a company, trust or retirement account'),
  column('blockers', 'json', 'Array of `{key, description}`: what still stops it; `[]` when nothing does'),
  column('contracts', 'json', 'Array of `{name, override_amount_cents, early_bird}`'),
  column('observed_at', 'time', "The platform's time of this publication; not a version number"),
  column(
    'reason',
    'text',
    'Why it was published, such as `changed` or `recomputed`',
    'it came from a listing',
  ),
  column(
    'extra',
    'json',
    'Object of fields this version of rosterd does not know yet',
    'there are none, or they were erased with the person',
  ),
];

export const validity: readonly ColumnEntry[] = [
  column('valid_from', 'time', 'When this version became visible here; never goes back within a source'),
  column('change_seq', 'integer', '`changes.seq` of the change that brought this version'),
];

const unknown = 'unknown, withheld, or erased';

export const person: readonly ColumnEntry[] = [
  column('name', 'text', 'Display name', unknown),
  column('legal_name', 'text', "Legal name; the entity's for an entity", unknown),
  column('email', 'text', 'E-mail address', unknown),
  column('address_line', 'text', 'Street address', unknown),
  column('city', 'text', 'City', unknown),
  column('state', 'text', 'State or province', unknown),
  column('postal_code', 'text', 'Postal code', unknown),
  column('country', 'text', 'Country, as the platform writes it', unknown),
  column('bio', 'text', 'What investors say about themselves', unknown),
  column('message', 'text', "The investor's note to the company", unknown),
  column('external_username', 'text', 'Username elsewhere', unknown),
];
