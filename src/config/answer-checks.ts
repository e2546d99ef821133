import { parseId, parseSourceName } from '../domain/ids.js';
import { isLoopback } from './formats.js';
import { databaseAddress, variableName, webAddress } from './values.js';

/**
 * Checks of single answers: each returns what was expected, as the end of "expected …", or undefined for a valid
 * answer. The rules are those of the configuration file, so that an answer accepted here is valid there.
 */
type Check = (answer: string) => string | undefined;

const matching =
  (schema: { safeParse(value: string): { success: boolean } }, wanted: string): Check =>
  (answer) =>
    schema.safeParse(answer).success ? undefined : wanted;

/** Proposes the scheme when it is all that is missing or wrong. */
export const isWebAddress: Check = (answer) => {
  if (webAddress.safeParse(answer).success) return undefined;
  const wanted = 'an https:// URL without user name, query or fragment (http:// for this machine only)';
  const address = answer.replace(/^https?:\/\//i, '');
  if (address.includes('://')) return wanted;
  const host = URL.parse(`https://${address}`)?.hostname ?? '';
  const meant = `${isLoopback(host) ? 'http' : 'https'}://${address}`;
  return webAddress.safeParse(meant).success ? `${wanted}; did you mean ${meant}?` : wanted;
};

export const isDatabase: Check = (answer) => {
  const parsed = databaseAddress.safeParse(answer);
  return parsed.success ? undefined : parsed.error.issues[0]?.message;
};

export const isSourceName: Check = (answer) =>
  parseSourceName(answer) === undefined
    ? 'a name such as acme: lower-case letters, digits, ".", "_" and "-", at most 63'
    : undefined;

export const isCompany: Check = (answer) =>
  parseId('company', answer) === undefined ? 'an id such as co_…' : undefined;

/** People easily type the secret itself instead of the name of its variable. */
export const isVariable = matching(
  variableName,
  'the NAME of an environment variable, such as ACME_TOKEN, and never the secret itself',
);

export const isPath: Check = (answer) =>
  answer === '' || answer.includes('\0') ? 'the path of a file' : undefined;

export const isClientId: Check = (answer) =>
  answer.startsWith('pk_') ? undefined : 'the publishable key of an application, which begins with pk_';
