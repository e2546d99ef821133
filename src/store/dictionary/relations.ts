import { column, type RelationEntry } from './column.js';
import { key, person, record, source, validity } from './record-columns.js';

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
const rowsIncoming =
  'Records read so far by the listing in progress. A record on two pages counts twice until the listing is complete';
const inQuarantine =
  'Records in quarantine: rosterd could not read them and no readable version has arrived since. A healthy source has 0';
const awaitingDeletion =
  'Number of rows of this source in the view `awaiting_deletion`. A healthy source has 0';
const namesIncomplete =
  '1 while the platform sends identities but earlier pages left some out. A listing that completes them is scheduled or in progress';
const currencyOf = column('currency', 'text', 'Currency of the sums', 'not sent');

/** The public tables and views. Columns are in the order of the table or view. */
export const publicRelations: readonly RelationEntry[] = [
  {
    name: 'investments',
    kind: 'view',
    meaning: 'The current version of every investment, one row per source and id. No identity.',
    columns: [...key, ...record, ...validity],
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
    ],
  },
  {
    name: 'incoming',
    kind: 'view',
    meaning:
      'Rows of listings in progress, as far as they were read. They are provisional: `investments` changes in one commit when the listing is complete. Until then a record that the platform sent on two pages appears here twice. No identity.',
    columns: [...key, ...record],
  },
  {
    name: 'awaiting_deletion',
    kind: 'view',
    meaning:
      'Rows of `investments` that the last complete listing did not name, too many to delete without approval (`sync.brake`). They stay in every other view until a person accepts the deletions (`rosterd sync --accept-deletions`), the platform names them again, or the rows missing from a later listing are within the limit. No identity.',
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
    ],
  },
  {
    name: 'changes',
    kind: 'view',
    meaning: 'The local change feed: every change, in commit order.',
    columns: [
      column('seq', 'integer', 'Number of the change, without gaps across all sources'),
      source,
      column('id', 'text', 'Id of the investment', '`kind` is `snapshot`'),
      column('kind', 'text', '`added`, `changed`, `removed`, or `snapshot` for a complete first listing'),
      column(
        'fields',
        'json',
        'Array of the names of the columns that changed; `[]` unless `kind` is `changed`',
      ),
      column('reason', 'text', "The platform's reason", 'the platform gave none'),
      column('at', 'time', 'When this mirror committed the change'),
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
  {
    name: 'sync_status',
    kind: 'view',
    meaning: 'How complete and current each source is, for people to read and for notebooks to assert.',
    columns: [
      source,
      column('state', 'text', 'As in `sources.state`'),
      column('meaning', 'text', 'The state in words, including failures'),
      column('readable', 'flag', '1 once a complete listing is published'),
      column(
        'complete_up_to',
        'time',
        "Everything published before this is here (the platform's time)",
        'nothing was read yet',
      ),
      column('rows', 'integer', 'Number of rows in `investments`'),
      column('rows_incoming', 'integer', rowsIncoming),
      column('pages_incoming', 'integer', 'Pages read by the listing in progress'),
      column(
        'listing_started_at',
        'time',
        'When the listing in progress started',
        'no listing is in progress',
      ),
      column(
        'deletions_waiting',
        'integer',
        'Older name of `awaiting_deletion`, below',
        'no row awaits deletion',
      ),
      column(
        'identity_included',
        'flag',
        '1 if the platform sends identities to this source',
        'not known yet',
      ),
      column('quarantined', 'integer', inQuarantine),
      column('cursor_saved_at', 'time', 'When the position in the feed was last stored', 'there is none'),
      column(
        'cursor_expires_at',
        'time',
        '90 days after `cursor_saved_at`, when the platform expires the position (approximate)',
        'there is none',
      ),
      column('last_tick_at', 'time', 'Last attempt', 'none yet'),
      column('last_success_at', 'time', 'Last attempt that ended well', 'none yet'),
      column('last_committed_at', 'time', 'Last commit of this source', 'none yet'),
      column('last_outcome', 'text', '`done`, `waiting`, `failed` or `stopped`', 'none yet'),
      column('last_error_code', 'text', 'Code of the last error', 'there was none'),
      column('last_error', 'text', 'Its message, without personal data', 'there was none'),
      column('last_error_at', 'time', 'When it happened', 'there was none'),
      column('retry_at', 'time', 'Earliest time of the next attempt', 'the next attempt need not wait'),
      column(
        'history_from',
        'time',
        'Earliest time that as-of queries can reach',
        'no listing is complete yet',
      ),
      column('awaiting_deletion', 'integer', awaitingDeletion),
      column('names_incomplete', 'flag', namesIncomplete),
    ],
  },
  {
    name: 'ticks',
    kind: 'view',
    meaning: 'Each attempt to bring a source up to date.',
    columns: [
      column('tick', 'integer', 'Number of the attempt'),
      source,
      column('trigger', 'text', '`start`, `timer`, `webhook` or `manual`'),
      column('mode', 'text', '`listing`, `relisting`, `sweep`, `delta` or `none`'),
      column('started_at', 'time', 'When it began'),
      column('took_ms', 'integer', 'Duration in milliseconds, up to the commit that wrote this row'),
      column('pages', 'integer', 'Pages read'),
      column('added', 'integer', 'Investments added'),
      column('changed', 'integer', 'Investments changed'),
      column('removed', 'integer', 'Investments removed'),
      column(
        'quarantined',
        'integer',
        'Records newly quarantined. A record that was already in quarantine is not counted again',
      ),
      column(
        'outcome',
        'text',
        '`done`, `waiting`, `failed` or `stopped`; `held` in ticks of versions before 0.2',
      ),
      column('code', 'text', 'Code of the error', 'there was none'),
      column('message', 'text', 'Its message, without personal data', 'there was none'),
    ],
  },
  {
    name: 'notices',
    kind: 'view',
    meaning: 'Messages about changes, delivered or to be delivered. They contain ids and amounts only.',
    columns: [
      column('notice', 'integer', 'Number of the notice'),
      source,
      column('seq', 'integer', '`changes.seq` of the change it reports'),
      column('target', 'text', 'Name of the target in the configuration'),
      column('body', 'json', 'Body of the message'),
      column('queued_at', 'time', 'When the change was committed'),
      column('state', 'text', '`pending`, `delivered` or `given_up`'),
      column('attempts', 'integer', 'Attempts so far'),
      column(
        'next_at',
        'time',
        'Earliest time of the next attempt while pending, otherwise the time of the last attempt',
      ),
      column('delivered_at', 'time', 'When the receiver accepted it', 'not delivered'),
      column('last_error', 'text', 'Why the last attempt failed', 'the last attempt did not fail'),
    ],
  },
  {
    name: 'quarantine',
    kind: 'view',
    meaning:
      'Records from the platform that rosterd could not read. `body` is the record as sent and may name a person.',
    columns: [
      column('quarantine_no', 'integer', 'Number of the entry'),
      source,
      column('id', 'text', 'Id of the investment', 'the id could not be read either'),
      column('problem', 'text', 'What is wrong with the record'),
      column('body', 'json', 'The record as sent', 'resolved or erased'),
      column('seen_at', 'time', 'When it arrived'),
      column('resolved_at', 'time', 'When a readable version arrived', 'still open'),
      column(
        'times',
        'integer',
        'Number of entries this row counts: 1, or more in the single row that counts the entries not stored once 10,000 were open',
      ),
    ],
  },
  {
    name: 'drift',
    kind: 'view',
    meaning:
      'Fields from the platform that this version of rosterd does not know. Their values are in `extra`.',
    columns: [
      source,
      column(
        'field',
        'text',
        'Path of the field in the record, truncated to 200 characters. `(more fields)` counts the fields beyond the first 500 of a source',
      ),
      column('times', 'integer', 'Number of records that had the field'),
      column('first_seen', 'time', 'When it was first seen'),
      column('last_seen', 'time', 'When it was last seen'),
    ],
  },
  {
    name: 'sources',
    kind: 'table',
    meaning: 'The state of each source, as the daemon stores it. `sync_status` is easier to read.',
    columns: [
      column('no', 'integer', 'Number of the source; internal key'),
      column('name', 'text', 'Name in the configuration'),
      column(
        'fingerprint',
        'text',
        'Digest of account, realm and filters. The cursor is valid only for these',
      ),
      column(
        'state',
        'text',
        '`empty`, `listing`, `relisting`, `sweeping`, `following` or `halted`. Versions before 0.2 wrote `held` when they stopped at the deletion brake; it is read as `relisting`',
      ),
      column('cursor', 'text', 'Position in the feed; opaque', 'no listing is complete yet'),
      column('cursor_saved_at', 'time', 'When it was stored', 'there is none'),
      column(
        'published_through',
        'time',
        "Everything published before this is here (the platform's time)",
        'nothing was read yet',
      ),
      column('generation', 'integer', 'Number of listings started'),
      column('listed_at', 'time', 'When the first listing was published', 'not published yet'),
      column('listed_seq', 'integer', '`changes.seq` of that commit', 'not published yet'),
      column('rows_held', 'integer', 'Number of rows in `investments`'),
      column('rows_incoming', 'integer', rowsIncoming),
      column('pages_incoming', 'integer', 'Pages read by the listing in progress'),
      column('quarantined', 'integer', inQuarantine),
      column('identity_included', 'flag', '1 if the platform sends identities', 'not known yet'),
      column('last_tick_at', 'time', 'Last attempt', 'none yet'),
      column('last_success_at', 'time', 'Last attempt that ended well', 'none yet'),
      column('last_outcome', 'text', '`done`, `waiting`, `failed` or `stopped`', 'none yet'),
      column('last_error_code', 'text', 'Code of the last error', 'there was none'),
      column('last_error', 'text', 'Its message, without personal data', 'there was none'),
      column('last_error_at', 'time', 'When it happened', 'there was none'),
      column('retry_at', 'time', 'Earliest time of the next attempt', 'the next attempt need not wait'),
      column('last_committed_at', 'time', 'Last commit of this source', 'none yet'),
      column('last_listing_at', 'time', 'Last complete listing', 'none yet'),
      column('listing_restarts', 'integer', 'How often that listing had to restart'),
      column('halted_from', 'text', 'State in which the source was halted', 'not halted'),
      column('halted_code', 'text', 'Code of the error that halted it', 'not halted'),
      column('halted_message', 'text', 'Message of that error', 'not halted'),
      column('halted_at', 'time', 'When it was halted', 'not halted'),
      column(
        'history_from',
        'time',
        'Superseded versions that ended before this time were purged',
        'none was purged',
      ),
      column('awaiting_deletion', 'integer', awaitingDeletion),
      column(
        'names_from_generation',
        'integer',
        'Number of the first listing that can complete the identities that earlier pages left out',
        'none was left out',
      ),
    ],
  },
  {
    name: 'webhook_inbox',
    kind: 'table',
    meaning: 'Accepted webhooks. Each is stored before the receiver responds and kept to detect repeats.',
    columns: [
      column('inbox_no', 'integer', 'Number of the delivery, in the order of arrival'),
      column('event_id', 'text', "The platform's id of the event; unique with `installation`"),
      column('installation', 'text', 'Installation that the event was sent to'),
      column('event', 'text', 'Name of the event, such as `investment.changed`'),
      column('source', 'text', 'Source that the event concerns', 'no source has this installation'),
      column(
        'investment',
        'text',
        'Id of the investment that the event concerns',
        'the event is about something else',
      ),
      column('observed_at', 'time', "The platform's time of the change", 'not sent'),
      column('test', 'flag', '1 for a test event'),
      column('received_at', 'time', 'When it was stored'),
      column('state', 'text', '`pending`, `worked`, `ignored` or `given_up`'),
      column('attempts', 'integer', 'Number of attempts to process it'),
      column(
        'next_at',
        'time',
        'Earliest time of the next attempt',
        'it can be processed immediately, or it is settled',
      ),
      column('worked_at', 'time', 'When it was settled', 'pending'),
      column('body', 'json', 'The event as sent, without personal data', 'trimmed when settled'),
    ],
  },
  {
    name: 'erasures',
    kind: 'table',
    meaning: 'Receipts of erased identities, without identity.',
    columns: [
      column('erasure', 'integer', 'Number of the receipt'),
      column('source_no', 'integer', '`sources.no`', 'every source was affected'),
      column(
        'id',
        'text',
        'Id of the investment or investor that was erased',
        'a whole source was erased at once',
      ),
      column(
        'cause',
        'text',
        '`tombstone`, `absent` (from a complete listing), `deactivated`, `grant_lost`, `dropped` (by configuration), `forget`, or `removed`: a value that was replaced',
      ),
      column('invisible_at', 'time', 'When the identity became invisible to queries'),
      column('scrubbed_at', 'time', 'When its bytes were scrubbed from the file', 'still to be scrubbed'),
    ],
  },
  {
    name: 'forgotten',
    kind: 'table',
    meaning: 'Ids that must stay forgotten: their identity is not stored again when the platform sends it.',
    columns: [
      column('id', 'text', 'Id of the investment or investor'),
      column('forgotten_at', 'time', 'When the forget request was made'),
    ],
  },
];
