import type { z } from 'zod';
import { counted } from '../../domain/counted.js';

const names: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

const forms: Readonly<Record<string, string>> = {
  date: 'an ISO 8601 date, like 2026-10-20',
  datetime: 'an ISO 8601 time with a zone, like 2026-10-20T09:30:00Z',
  email: 'an email address',
  url: 'a URL',
};

/**
 * Words the issues of a parse for the client of the API, who does not know zod. Never quotes the value, which may be a
 * person's. Returns undefined for an issue that it has no words for: zod's own message is used.
 */
export const wording: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : mustBe(names[issue.expected]);
    case 'invalid_value':
      if (issue.input === undefined) return 'is missing';
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_format':
      return mustBe(forms[issue.format]);
    case 'too_small':
      return bound('at least', issue.minimum, issue.origin);
    case 'too_big':
      return bound('at most', issue.maximum, issue.origin);
    case 'unrecognized_keys':
      return `has an unknown field: ${issue.keys.join(', ')}`;
    default:
      return undefined;
  }
};

const mustBe = (what: string | undefined): string | undefined =>
  what === undefined ? undefined : `must be ${what}`;

function bound(limit: 'at least' | 'at most', value: number | bigint, origin: string): string {
  if (origin === 'string') return `must have ${limit} ${counted(Number(value), 'character')}`;
  if (origin === 'array') return `must have ${limit} ${counted(Number(value), 'item')}`;
  return `must be ${limit} ${value}`;
}
