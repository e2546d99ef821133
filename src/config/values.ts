import { z } from 'zod';
import { sandboxTokenPrefix } from '../wire/credential-shapes.js';
import { isInMemory, isPostgres, notInMemory } from './database.js';
import { formats, parsePeriod, parseTimeOfDay } from './formats.js';
import { expectedTemplate } from './source-template.js';

/**
 * The types of option values. Every custom message completes the sentence "expected …".
 */

/** Marks secrets as `writeOnly`, JSON Schema's keyword; rosterd masks values by this mark. */
export const secretMark = { writeOnly: true } as const;

export const secretForms =
  '{"env": "NAME"}, {"file": "path"} or {"command": ["program", "argument"]} instead of the secret itself';

export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .refine(formats['variable-name'])
  .meta({ format: 'variable-name' });

const reference = [
  z.strictObject({
    env: variableName.meta({ description: 'Name of the environment variable with the secret' }),
  }),
  z.strictObject({
    file: z.string().min(1).meta({ description: 'File that contains only the secret, mode 0600' }),
  }),
  z.strictObject({
    command: z.array(z.string()).min(1).meta({
      description: 'Program and arguments that print the secret; run without a shell, with a timeout of 10 s',
    }),
  }),
] as const;

/** Always a reference: a value in the file would end up in backups and version control. */
export const secretReference = z.union(reference);

/** A reference, or the token of a sandbox itself, which protects nothing. */
export const accessTokenReference = z.union([
  z.string().regex(new RegExp(`^${sandboxTokenPrefix}[A-Za-z0-9_-]+$`), secretForms),
  ...reference,
]);

export const sourceName = z
  .string()
  .refine(
    formats['source-name'],
    'a name such as acme: lower-case letters, digits, ".", "_" and "-", at most 63',
  )
  .meta({ pattern: '^[a-z0-9][a-z0-9._-]{0,62}$', format: 'source-name' });

export const sourceTemplate = z
  .string()
  .refine(formats['source-template'], { error: ({ input }) => expectedTemplate(String(input)) })
  .meta({ format: 'source-template' });

export const scope = z
  .string()
  .regex(/^(?:read|write):[a-z_]+(?::[a-z_]+)?$/, 'a scope such as read:investments');

export function idOf(kind: 'company' | 'installation' | 'offering' | 'user', example: string) {
  return z
    .string()
    .refine(formats[`${kind}-id`], `an id such as ${example}`)
    .meta({ pattern: `^${example.slice(0, example.indexOf('_') + 1)}`, format: `${kind}-id` });
}

export const webAddress = z
  .string()
  .refine(formats.uri, 'an https:// URL without user name, query or fragment (http:// for this machine only)')
  .meta({ format: 'uri' });

export const listenAddress = z
  .string()
  .refine(formats['listen-address'], 'an address and port such as 127.0.0.1:8787')
  .meta({ format: 'listen-address' });

export const addressRange = z
  .string()
  .refine(formats['address-range'], 'an IP address such as 10.0.0.5, or a range such as 10.0.0.0/28')
  .meta({ format: 'address-range' });

export const databaseAddress = z
  .string()
  .refine(formats['database-address'], {
    error: ({ input }) =>
      isPostgres(String(input))
        ? 'postgres://USER@HOST:PORT/DATABASE (HOST is %2Frun%2Fpostgresql for a Unix socket), with %25 for %, and connection options such as sslmode=verify-full after "?" but no password there'
        : `sqlite:PATH, for example sqlite:./data/mirror.db, or postgres://USER@HOST:PORT/DATABASE${isInMemory(String(input)) ? `: ${notInMemory}` : ''}`,
  })
  .meta({ format: 'database-address' });

export const headerToken = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'letters, digits and "-", as in an HTTP header');

export const timeOfDay = z
  .string()
  .refine((text) => parseTimeOfDay(text) !== undefined, 'a time of day such as 08:30')
  .meta({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });

export const timeZone = z
  .string()
  .refine(formats['time-zone'], 'a time zone such as UTC or Europe/Berlin')
  .meta({ format: 'time-zone' });

export const period = z
  .string()
  .refine((text) => parsePeriod(text) !== undefined, 'a whole number with its unit, such as 30m, 6h or 1d')
  .meta({ pattern: '^[1-9][0-9]{0,3}[mhd]$' });
