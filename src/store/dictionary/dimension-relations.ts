import { type ColumnEntry, column, type RelationEntry } from './column.js';
import { companyName, roundName, source, validity } from './shared-columns.js';

/** The views of companies and rounds. Columns are in the order of the view. */

const notSent = 'not sent, or the platform does not serve the company';
const notServed = 'not sent, or the platform does not serve the round';

const companyId: ColumnEntry = column('id', 'text', "The platform's id of the company");
const company: readonly ColumnEntry[] = [
  column(
    'name',
    'text',
    'Name of the company',
    'the platform does not serve the company and nothing else names it: see `unavailable`',
  ),
  column('slug', 'text', "Last part of the address of the company's page", notSent),
  column('url', 'text', "Address of the company's page", notSent),
  column(
    'status',
    'text',
    '`raising` while a round accepts money or reservations, else `not_raising`',
    notSent,
  ),
  column('currency', 'text', 'Currency of its rounds', 'unknown, or its rounds have several'),
  column('tagline', 'text', 'One sentence about the company', notSent),
  column('city', 'text', 'City of the company', notSent),
  column('state', 'text', 'State or province of the company', notSent),
  column('country', 'text', 'Country of the company', notSent),
  column('current_round_id', 'text', 'Id of the round that the page shows as current', 'it is not raising'),
  column(
    'raised_cents',
    'cents',
    'Raised in all its rounds on this platform, as the platform reports it',
    notSent,
  ),
  column('profile_raised_cents', 'cents', "Raised figure of the company's page", notSent),
  column('reported_elsewhere_cents', 'cents', 'Raised elsewhere, as the company reports it', notSent),
  column(
    'reported_rounds',
    'json',
    'Array of `{exemption, raised_cents, investor_count, opened_at, closed_at}`: rounds elsewhere that the company reports',
  ),
  column(
    'unavailable',
    'text',
    'Why the platform does not serve the company, such as `404 not_found` or `403 insufficient_scope`',
    'it serves the company',
  ),
  column(
    'extra',
    'json',
    'Object of the fields that this version of rosterd does not know',
    'there are none',
  ),
];

const roundId: ColumnEntry = column(
  'id',
  'text',
  "The platform's id of the round: `offering_id` of its investments",
);
const round: readonly ColumnEntry[] = [
  column('company_id', 'text', 'Id of the company that raises the money', 'unknown'),
  column(
    'name',
    'text',
    "The platform's name of the round. Without one: exemption, security and year of opening, such as `Reg CF SAFE 2025`, and `reservations` for a round that takes them. Rounds of a company that would have the same name get the day they opened, and after that the end of their id",
  ),
  column(
    'kind',
    'text',
    'Security: `safe`, `equity`, `convertible_note`, `revenue_share`, `debt`, `fund` or `other`; for reservations the intended one',
    notServed,
  ),
  column('exemption', 'text', 'Label of the exemption, such as `Reg CF` or `Reg D 506(c)`', 'unknown'),
  column('status', 'text', '`upcoming`, `open`, `closed` or `canceled`', notServed),
  column('testing_the_waters', 'flag', '1 while the round takes non-binding reservations', notServed),
  column('currency', 'text', 'Currency of all amounts in the row', 'unknown until the round has investments'),
  column('target_cents', 'cents', 'Funding target', notServed),
  column('max_target_cents', 'cents', 'Maximum funding target', notServed),
  column('min_investment_cents', 'cents', 'Smallest investment', notServed),
  column(
    'raised_cents_reported',
    'cents',
    'Raised figure that the platform shows for this round; compare it with `round_totals.raised_cents`',
    notServed,
  ),
  column('investor_count_reported', 'integer', 'Number of investors that the platform shows', notServed),
  column('opened_at', 'time', 'When the round opened', 'it has not opened, or is not served'),
  column('closes_at', 'time', 'When an open round is to close', 'it has no date, or is not open'),
  column('closed_at', 'time', 'When the round closed', 'it has not closed, or is not served'),
  column('terms', 'json', 'Terms of the security as sent, with amounts as decimal text', 'not sent'),
  column(
    'unavailable',
    'text',
    'Why the platform does not serve the round, such as `404 not_found` for a private one. The row then has what its company and its investments say of it',
    'it serves the round',
  ),
  column(
    'extra',
    'json',
    'Object of the fields that this version of rosterd does not know',
    'there are none',
  ),
];

const ended: readonly ColumnEntry[] = [
  column('valid_to', 'time', 'When this version was superseded here; exclusive'),
  column('ended_by', 'text', '`update`, or `removed` when a complete listing no longer named it'),
];

export const dimensionRelations: readonly RelationEntry[] = [
  {
    name: 'companies',
    kind: 'view',
    meaning:
      'The companies of the investments of each source. Companies have no change feed: they are listed and compared at start, after events and daily (`collections.listed_at`).',
    columns: [source, companyId, ...company, ...validity],
  },
  {
    name: 'rounds',
    kind: 'view',
    meaning:
      'The rounds (offerings) of these companies, and every other round that an investment names. Listed and compared like `companies`.',
    columns: [source, roundId, ...round, ...validity, companyName],
  },
  {
    name: 'round_stats',
    kind: 'view',
    meaning:
      "What the platform's stats endpoint says of each round, by status, to be compared with `round_totals`. Only the last answer is kept.",
    columns: [
      source,
      column('offering_id', 'text', 'Id of the round'),
      column('company_id', 'text', 'Id of the company', 'not sent'),
      column('status', 'text', 'Status of the investments counted'),
      column('currency', 'text', 'Currency of the sums', 'not sent'),
      column('investments', 'integer', 'Number of investments'),
      column('committed_cents', 'cents', 'Sum of the commitments'),
      column('raised_cents', 'cents', 'Sum of the raised amounts'),
      column(
        'published_through',
        'time',
        "What was published before this is counted (the platform's time)",
        'not sent',
      ),
      column('asked_at', 'time', 'When the platform was asked'),
      companyName,
      roundName,
      column(
        'extra',
        'json',
        'Object of the fields of this status and of its round that this version of rosterd does not know, as in the response: those of the status are under `by_status`',
        'there are none, or rosterd 0.2.0 stored the row and the platform was not asked since',
      ),
    ],
  },
  {
    name: 'company_updates',
    kind: 'view',
    meaning:
      'The posts of each company that the token may see, without their bodies and authors. Only the present: no earlier versions are kept, and `changes` has what a post said before. A post that cannot be read stays as it was, or is missing if it is new; `collections.problem` says why.',
    columns: [
      source,
      column('id', 'text', "The platform's id of the post"),
      column('company_id', 'text', 'Id of the company'),
      column('kind', 'text', '`update`, `note`, `spotlight` or another', 'not sent'),
      column('title', 'text', 'Title of the post', 'it has none'),
      column(
        'audience',
        'text',
        '`public`, `investors`, `community`, `founders` or `private`',
        'the platform does not say',
      ),
      column('published_at', 'time', 'When it was published', 'not sent'),
      column('pinned', 'flag', '1 if it is pinned to the top', 'not sent'),
      column('url', 'text', 'Address of the post', 'not sent'),
      column(
        'extra',
        'json',
        'Object of the fields that this version of rosterd does not know',
        'there are none',
      ),
      ...validity,
      companyName,
    ],
  },
  {
    name: 'company_history',
    kind: 'view',
    meaning: 'Superseded versions of companies, to be used as `investment_history` is.',
    columns: [source, companyId, ...company, ...validity, ...ended],
  },
  {
    name: 'round_history',
    kind: 'view',
    meaning: 'Superseded versions of rounds, to be used as `investment_history` is.',
    columns: [source, roundId, ...round, ...validity, ...ended, companyName],
  },
  {
    name: 'collections',
    kind: 'view',
    meaning: 'When companies, rounds, their numbers and posts were last listed, and what could not be read.',
    columns: [
      source,
      column('collection', 'text', '`companies`, `rounds`, `round_stats` or `company_updates`'),
      column('asked_at', 'time', 'Start of the last attempt'),
      column('listed_at', 'time', 'Last complete listing', 'none yet'),
      column('problem', 'text', 'What could not be read, and why', 'everything could be read'),
      column('problem_since', 'time', 'When the problem began', 'there is none'),
    ],
  },
];
