import { type ColumnEntry, column } from './column.js';

export const source = column('source', 'text', 'Name of the source in the configuration');

export const key: readonly ColumnEntry[] = [
  source,
  column('id', 'text', "The platform's id of the investment. It never changes and is unique within a source"),
];

/** The columns that every view of a record has, in order. */
export const record: readonly ColumnEntry[] = [
  column('company_id', 'text', 'Id of the company that raises the money', 'not sent'),
  column('offering_id', 'text', 'Id of the offering (round)', 'not sent'),
  column('investor_id', 'text', 'Id of the investor, without a name', 'not sent'),
  column(
    'status',
    'text',
    '`reserved`, `active`, `executed`, `needs_whitelisting`, `canceled` or `converted`. The platform may add others',
  ),
  column('group_label', 'text', 'Bucket on the founder dashboard, such as `PENDING` or `CONFIRMED`', 'none'),
  column('investment_type', 'text', 'Label of the security, such as `SAFE`', 'not sent'),
  column('offering_type', 'text', 'Label of the exemption, such as `Reg CF`', 'not sent'),
  column('applied_at', 'time', 'When the investor committed', 'not sent'),
  column('currency', 'text', 'Lower-case ISO 4217 code of all amounts in the row', 'not sent'),
  column('committed_cents', 'cents', 'Amount the investor committed', 'not sent'),
  column(
    'investment_size_cents',
    'cents',
    'Size of the investment: the price of the shares if the round has shares, otherwise the commitment',
    'not sent',
  ),
  column('in_escrow_cents', 'cents', 'Funds in escrow now', 'not sent'),
  column(
    'raised_cents',
    'cents',
    'Contribution to the public raised figure, 0 until it counts. Sum this column to match the deal page',
    'the record is older than this field',
  ),
  column(
    'shares',
    'decimal',
    'Number of shares bought',
    'the round has no shares, or the number is not computed yet',
  ),
  column('average_share_price', 'decimal', 'Weighted average price of a share', '`shares` is null'),
  column('needs_whitelisting', 'flag', '1 while the investor still has to be whitelisted'),
  column('visible', 'flag', '1 if founders see the investment on the platform'),
  column(
    'converted_to',
    'text',
    'Id of the investment that this one became in another round',
    'not converted',
  ),
  column(
    'converted_from',
    'text',
    'Id of the investment that was converted to this one',
    'not the result of a conversion',
  ),
  column('investor_deactivated', 'flag', "1 once the investor's account is deactivated"),
  column('via_entity', 'flag', '1 if the investor invested through a company, trust or retirement account'),
  column(
    'blockers',
    'json',
    'Array of `{key, description}`: what still blocks the investment; `[]` if nothing does',
  ),
  column('contracts', 'json', 'Array of `{name, override_amount_cents, early_bird}`'),
  column(
    'observed_at',
    'time',
    'When the platform published this version; not a version number. `rosterd verify` compares it',
  ),
  column(
    'reason',
    'text',
    'Why the platform published this version, such as `changed` or `recomputed`. Only the change feed says so: a listing' +
      ' has no reasons (rule INV-29), so `rosterd verify` cannot compare it there',
    'the version came from a listing',
  ),
  column(
    'extra',
    'json',
    'Object of the fields that this version of rosterd does not know',
    'there are none, they were erased with the person, or names are masked',
  ),
];

export const validity: readonly ColumnEntry[] = [
  column('valid_from', 'time', 'When this mirror committed this version; never decreases within a source'),
  column('change_seq', 'integer', '`changes.seq` of the change that created this version'),
];

export const companyName = column('company_name', 'text', '`companies.name`', 'unknown');
export const roundName = column('round_name', 'text', '`rounds.name`', 'unknown');

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
  column('bio', 'text', "The investor's description of themselves", unknown),
  column('message', 'text', "The investor's note to the company", unknown),
  column('external_username', 'text', 'Username on an external service', unknown),
];
