import type { Identity, Investment } from '../domain/investment.js';
import type { recordFlags } from './record-columns.js';
import type { IdentityColumns, RecordColumns } from './schema-columns.js';

/*
 * Converts the columns of a stored row back to a record. The branded types are safe here, because the parser produced
 * these values before they were stored.
 */

export interface StoredRecord extends RecordColumns {
  readonly id: string;
}

/** A person's columns, prefixed, in a row that also has the record's columns. All are null when there is no person. */
export type PersonBeside = {
  readonly [Column in keyof IdentityColumns as `person_${Column}`]: IdentityColumns[keyof IdentityColumns];
} & { readonly person: number | null };

/**
 * Converts the row in place and returns it, because a copy would cost more than the read. Callers must not share the
 * row.
 */
export function recordIn(row: StoredRecord): Investment {
  return Object.assign<object, Flags>(row, {
    needs_whitelisting: row.needs_whitelisting === 1,
    visible: row.visible === 1,
    investor_deactivated: row.investor_deactivated === 1,
    via_entity: row.via_entity === 1,
  }) as Investment;
}

type Flags = Pick<Investment, (typeof recordFlags)[number]>;

export function identityIn(row: IdentityColumns): Identity {
  return { ...row, email_hidden: row.email_hidden === 1 };
}

export function personIn(row: PersonBeside): Identity | null {
  if (row.person === null) return null;
  return {
    name: textIn(row.person_name),
    legal_name: textIn(row.person_legal_name),
    email: textIn(row.person_email),
    address_line: textIn(row.person_address_line),
    city: textIn(row.person_city),
    state: textIn(row.person_state),
    postal_code: textIn(row.person_postal_code),
    country: textIn(row.person_country),
    bio: textIn(row.person_bio),
    message: textIn(row.person_message),
    external_username: textIn(row.person_external_username),
    email_hidden: row.person_email_hidden === 1,
    extra: textIn(row.person_extra),
  };
}

const textIn = (value: string | number | null) => (typeof value === 'string' ? value : null);
