import { z } from 'zod';
import { type IdKind, parseId, parseSourceName } from '../domain/ids.js';
import { maskCredentials, sandboxTokenPrefix } from '../wire/credential-shapes.js';
import { isPostgres, isPostgresUrl } from './database.js';

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
  // Reject a secret typed instead of its name, because names are printed.
  .refine((name) => maskCredentials(name) === name);

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
    (name) => parseSourceName(name) !== undefined,
    'a name such as acme: lower-case letters, digits, ".", "_" and "-", at most 63',
  )
  .meta({ pattern: '^[a-z0-9][a-z0-9._-]{0,62}$' });

export function idOf(kind: IdKind, example: string) {
  return z
    .string()
    .refine((value) => parseId(kind, value) !== undefined, `an id such as ${example}`)
    .meta({ pattern: `^${example.slice(0, example.indexOf('_') + 1)}` });
}

/** Requests carry a token, so plain HTTP is allowed only to this machine. */
export const webAddress = z
  .string()
  .refine(
    isWebAddress,
    'an https:// URL without user name, query or fragment (http:// for this machine only)',
  )
  .meta({ format: 'uri' });

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return false;
  }
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare);
}

export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:8787`, `[::1]:8787`, `localhost:0`; port 0 takes any free one. */
export function parseListen(text: string): Listen | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || !(port <= 65_535) ? undefined : { host, port };
}

export const listenAddress = z
  .string()
  .refine((text) => parseListen(text) !== undefined, 'an address and port such as 127.0.0.1:8787');

export const databaseAddress = z
  .string()
  .refine((text) => isPostgresUrl(text) || (/^sqlite:.+/.test(text) && !text.startsWith('sqlite://')), {
    error: ({ input }) =>
      isPostgres(String(input))
        ? 'postgres://USER@HOST:PORT/DATABASE, with connection options after "?" but no password there'
        : 'sqlite:PATH, for example sqlite:./data/mirror.db, or postgres://USER@HOST:PORT/DATABASE',
  });

export const headerToken = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'letters, digits and "-", as in an HTTP header');
