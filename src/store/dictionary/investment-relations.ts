import { column, type RelationEntry } from './column.js';
import { companyName, key, person, record, roundName, source, validity } from './shared-columns.js';

/** The views of investments: who invested what, how that changed, and its sums. Columns are in the order of the view. */

const noPerson = 'the row has no identity';
const count = column('investments', 'integer', 'Number of investments');
const committed = column('committed_cents', 'cents', 'Sum of `committed_cents`; amounts not sent count as 0');
const raised = column('raised_cents', 'cents', 'Sum of `raised_cents`; amounts not sent count as 0');
const exactSums = column(
  'exact_cents',
  'json',
  'Exact sums of this row as text, if one of them does not fit into 64 bits. The column of that sum then contains 9223372036854775807 or its negative',
  'all sums fit, which is always so unless the platform is broken',
);
const companyOf = column('company_id', 'text', 'Id of the company', 'not sent');
const currencyOf = column('currency', 'text', 'Currency of the sums', 'not sent');

export const investmentRelations: readonly RelationEntry[] = [
  {
    name: 'investments',
    kind: 'view',
    meaning: 'The current version of every investment, one row per source and id. No identity.',
    columns: [...key, ...record, ...validity, companyName, roundName],
  },
  {
    name: 'identities',
    kind: 'view',
    meaning:
      'Who the investors are: names, contact data and notes. One row per investment whose identity is stored.',
    columns: [
      ...key,
      ...person,
      column('email_hidden', 'flag', '1 if the company must not see the e-mail address'),
      column('extra', 'json', 'Object of unknown fields that came with the person', 'there are none'),
    ],
  },
  {
    name: 'roster',
    kind: 'view',
    meaning:
      'Every row of `investments` joined with its row of `identities`. The identity columns are null where no identity is stored.',
    columns: [
      ...key,
      ...record,
      ...validity,
      ...person,
      column('email_hidden', 'flag', '1 if the company must not see the e-mail address', noPerson),
      column('identity_extra', 'json', '`identities.extra`', `there are none, or ${noPerson}`),
      companyName,
      roundName,
    ],
  },
  {
    name: 'investment_history',
    kind: 'view',
    meaning:
      'Superseded versions. The state at time T is every row of `investments` with `valid_from <= T`, plus every row of this view with `valid_from <= T` and `valid_to > T`. No identity.',
    columns: [
      ...key,
      ...record,
      ...validity,
      column('valid_to', 'time', 'When this version was superseded here; exclusive'),
      column('ended_by', 'text', '`update`, `tombstone` (the platform withdrew the investment) or `relist`'),
      companyName,
      roundName,
    ],
  },
  {
    name: 'incoming',
    kind: 'view',
    meaning:
      'Rows of listings in progress, as far as they were read. They are provisional: `investments` changes in one commit when the listing is complete. Until then a record that the platform sent on two pages appears here twice. No identity.',
    columns: [...key, ...record, companyName, roundName],
  },
  {
    name: 'awaiting_deletion',
    kind: 'view',
    meaning:
      'Rows of `investments` that the last complete listing did not name, too many to delete without approval (`sync.brake`), or beside a record whose id could not be read. They stay in every other view until a person accepts the deletions (`rosterd sync --accept-deletions`), the platform names them again, or the rows missing from a later listing are within the limit. No identity.',
    columns: [
      ...key,
      companyOf,
      column('offering_id', 'text', 'Id of the offering (round)', 'not sent'),
      column('investor_id', 'text', 'Id of the investor, without a name', 'not sent'),
      column('status', 'text', 'Status, as last published'),
      column('currency', 'text', 'Currency of the amounts', 'not sent'),
      column('committed_cents', 'cents', 'Amount committed', 'not sent'),
      column('raised_cents', 'cents', 'Contribution to the raised figure', 'not sent'),
      column('applied_at', 'time', 'When the investor committed', 'not sent'),
      column('missing_since', 'time', 'When the first listing that did not name it was committed'),
      column('generation', 'integer', 'Number of the last listing that did not name it'),
      companyName,
      roundName,
    ],
  },
  {
    name: 'changes',
    kind: 'view',
    meaning: 'The local change feed: every change, in commit order.',
    columns: [
      column(
        'seq',
        'integer',
        'Number of the change, without gaps across all sources except where a source was erased',
      ),
      source,
      column('id', 'text', 'Id of the investment, company, round or post', '`kind` is `snapshot`'),
      column(
        'kind',
        'text',
        '`added`, `changed`, `removed`, or `snapshot` for a complete first listing; `company_added`, `round_changed`, `update_removed` and so on for companies, rounds and posts',
      ),
      column('fields', 'json', 'Array of the columns that changed; `[]` unless something `changed`'),
      column('reason', 'text', "The platform's reason", 'the platform gave none'),
      column('at', 'time', 'When this mirror committed the change'),
      column(
        'before',
        'json',
        'Object of the columns that changed, as they were; of a removed investment all columns. Identity is never included: `fields` names its columns',
        '`kind` is `added` or `snapshot`, or the version is not stored any more (`history.keepDays`)',
      ),
      column(
        'after',
        'json',
        'The same columns after the change; of an added investment all columns. Never identity',
        '`kind` is `removed` or `snapshot`, or the version is not stored any more',
      ),
      column(
        'company_name',
        'text',
        'Name of the company as it is now: of the investment, round or post, or the company itself. A deleted one has that of its last version',
        'unknown, or `kind` is `snapshot`',
      ),
      column(
        'round_name',
        'text',
        'Name of the round as it is now: of the investment, or the round itself. A deleted one has that of its last version',
        'unknown, or `kind` is `snapshot` or about a company or post',
      ),
    ],
  },
  {
    name: 'round_totals',
    kind: 'view',
    meaning: 'Totals by source, company, offering, status and currency.',
    columns: [
      source,
      companyOf,
      column('offering_id', 'text', 'Id of the offering (round)', 'not sent'),
      column('status', 'text', 'Status of the investments counted'),
      currencyOf,
      count,
      committed,
      column('in_escrow_cents', 'cents', 'Sum of `in_escrow_cents`; amounts not sent count as 0'),
      raised,
      exactSums,
      companyName,
      roundName,
    ],
  },
  {
    name: 'daily_raised',
    kind: 'view',
    meaning: 'Totals by source, company, UTC day of `applied_at` and currency.',
    columns: [
      source,
      companyOf,
      column('day', 'day', 'UTC day', '`applied_at` was not sent'),
      currencyOf,
      count,
      committed,
      raised,
      exactSums,
      companyName,
    ],
  },
  {
    name: 'investor_totals',
    kind: 'view',
    meaning: 'Totals by source, investor and currency. Investments without an investor id are left out.',
    columns: [
      source,
      column('investor_id', 'text', 'Id of the investor, without a name'),
      currencyOf,
      count,
      committed,
      raised,
      column('first_applied_at', 'time', 'Earliest `applied_at`', 'none was sent'),
      column('last_applied_at', 'time', 'Latest `applied_at`', 'none was sent'),
      exactSums,
    ],
  },
];
