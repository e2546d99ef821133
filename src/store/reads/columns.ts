/** The columns of a version of an investment. */
export const columnsBeforeNames = [
  'source',
  'id',
  'company_id',
  'offering_id',
  'investor_id',
  'status',
  'group_label',
  'investment_type',
  'offering_type',
  'applied_at',
  'currency',
  'committed_cents',
  'investment_size_cents',
  'in_escrow_cents',
  'raised_cents',
  'shares',
  'average_share_price',
  'needs_whitelisting',
  'visible',
  'converted_to',
  'converted_from',
  'investor_deactivated',
  'via_entity',
  'blockers',
  'contracts',
  'observed_at',
  'reason',
  'extra',
  'valid_from',
  'change_seq',
] as const;

/** What the ids of company and round are called; the last columns of each view. */
const nameColumns = ['company_name', 'round_name'] as const;

/** The columns of `investments` in the order of the view, which is the order of every file made from it. */
export const investmentColumns = [...columnsBeforeNames, ...nameColumns] as const;

/** The columns that `roster` adds. */
export const personColumns = [
  'name',
  'legal_name',
  'email',
  'address_line',
  'city',
  'state',
  'postal_code',
  'country',
  'bio',
  'message',
  'external_username',
  'email_hidden',
  'identity_extra',
] as const;

/** The columns of `roster` in the order of the view. */
export const rosterColumns = [...columnsBeforeNames, ...personColumns, ...nameColumns] as const;
