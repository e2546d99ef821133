import { expect, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import {
  isServerAway,
  isStatementLost,
  ownTriggerFunctions,
  postgresFault,
} from '../../../../src/store/dialect/postgres/faults.js';
import { shippedMigrations } from '../../../../src/store/migrate.js';

const url = 'postgres://db/mirror';

/** An error as the driver makes it of what the server reports. */
const reported = (code: string, more: Readonly<Record<string, unknown>> = {}) =>
  Object.assign(new Error('CANARY'), { severity: 'ERROR', code, ...more });

/** An error of the system or of the driver itself. */
const failed = (message: string, more: Readonly<Record<string, unknown>> = {}) =>
  Object.assign(new Error(message), more);

const words = (text: string) => expect.stringContaining(text) as unknown;

interface Expected {
  readonly code: string;
  readonly message?: unknown;
  readonly about?: { readonly locked?: boolean; readonly lasting?: boolean; readonly hint?: unknown };
}

test.each<[string, Error, Expected]>([
  [
    'a lock that is not granted',
    reported('55P03'),
    { code: 'database_busy', message: words('did not grant a lock in time'), about: { locked: true } },
  ],
  [
    'a statement that takes too long',
    reported('57014'),
    { code: 'database_busy', message: words('canceled a statement'), about: { locked: true } },
  ],
  [
    'a server without another connection',
    reported('53300'),
    { code: 'database_busy', about: { hint: words('raise max_connections') } },
  ],
  [
    'a server that accepts no writes',
    reported('25006'),
    { code: 'database_busy', about: { hint: words('name the primary') } },
  ],
  [
    'a deadlock',
    reported('40P01'),
    { code: 'database_busy', about: { hint: words('look for long transactions') } },
  ],
  [
    'a concurrent transaction',
    reported('40001', { routine: 'ExecUpdate' }),
    { code: 'database_busy', message: words('because of a concurrent one') },
  ],
  [
    'a conflict with the recovery of a standby',
    reported('40001', { routine: 'ProcessInterrupts' }),
    { code: 'database_busy', message: words('is a standby that ended a read') },
  ],
  ['a full disk', reported('53100'), { code: 'database_full', message: words('has no room left') }],
  [
    'a lost right',
    failed('permission denied for table change_rows', { severity: 'ERROR', code: '42501' }),
    { code: 'database_unusable', message: words('do that: permission denied for table change_rows (42501)') },
  ],
  [
    'rows that a policy hides',
    failed('query would be affected by row-level security policy for table "sources"', {
      severity: 'ERROR',
      code: '42501',
    }),
    { code: 'database_unusable', about: { hint: words('ALTER TABLE sources NO FORCE ROW LEVEL SECURITY') } },
  ],
  [
    'a trigger of another program',
    reported('23514', { where: 'PL/pgSQL function audit.guard() line 3 at RAISE' }),
    { code: 'database_unusable', message: words('has a trigger or function audit.guard() that refused it') },
  ],
  [
    'a trouble of the server in a trigger of the mirror itself',
    reported('58030', { where: 'PL/pgSQL function public.mark_residue() line 3 at SQL statement' }),
    { code: 'database_busy', message: words('cannot read or write its files') },
  ],
  [
    'a trigger of another program that ran within one of the mirror',
    reported('23514', {
      where:
        'PL/pgSQL function guard() line 1 at RAISE\nPL/pgSQL function mark_residue() line 3 at SQL statement',
    }),
    { code: 'database_unusable', message: words('has a trigger or function guard() that refused it') },
  ],
  [
    'an exception that only triggers raise',
    reported('P0001'),
    { code: 'database_unusable', message: words('has a trigger or function that refused it') },
  ],
  [
    'a refusal in the words of another program',
    reported('42501'),
    { code: 'database_unusable', message: `${url} does not let this user do that (42501)` },
  ],
  [
    'a refused password',
    reported('28P01'),
    { code: 'database_busy', message: words('refuses the password'), about: { lasting: true } },
  ],
  [
    'a missing database',
    reported('3D000'),
    { code: 'database_unusable', about: { hint: words('createdb NAME') } },
  ],
  ['a damaged index', reported('XX002'), { code: 'database_unusable', about: { hint: words('REINDEX') } }],
  [
    'a parameter that a pooler refuses',
    failed('unsupported startup parameter in options: search_path', { severity: 'FATAL', code: '08P01' }),
    {
      code: 'database_busy',
      message: words('refuses the parameter search_path of a connection'),
      about: { lasting: true },
    },
  ],
  [
    'another violation of the protocol',
    reported('08P01'),
    { code: 'database_busy', message: words('cannot be reached or closed the connection (08P01)') },
  ],
  [
    'a server without TLS',
    failed('The server does not support SSL connections'),
    { code: 'database_busy', message: words('offers no TLS'), about: { lasting: true } },
  ],
  [
    'a certificate that is not trusted',
    failed('CANARY', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    { code: 'database_busy', about: { lasting: true, hint: words('sslrootcert') } },
  ],
  [
    'a missing password',
    failed('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
    { code: 'database_unusable', message: words('was given none') },
  ],
  [
    'a file of the URL that cannot be read',
    failed('CANARY', { code: 'ENOENT', syscall: 'open', path: '/etc/ca.pem' }),
    {
      code: 'database_busy',
      message: words('/etc/ca.pem cannot be read (ENOENT)'),
      about: { lasting: true },
    },
  ],
  ['too many open files', failed('CANARY', { code: 'EMFILE' }), { code: 'out_of_descriptors' }],
  [
    'a lost connection in the words of the driver',
    failed('Connection terminated unexpectedly'),
    { code: 'database_busy', message: words('closed the connection (closed)') },
  ],
  [
    'the first of the errors of several addresses',
    new AggregateError([reported('57P03'), failed('CANARY')]),
    { code: 'database_busy', message: words('is starting up') },
  ],
])('an error of PostgreSQL becomes a fault without the words of the server: %s', (_, error, fault) => {
  const found = postgresFault(error, url);
  expect(found).toBeInstanceOf(Fault);
  expect(found).toMatchObject({ about: { cause: error } });
  expect(found).toMatchObject(fault);
  const { locked, lasting } = (found as Fault).about;
  expect({ locked, lasting }).toEqual({ locked: fault.about?.locked, lasting: fault.about?.lasting });
  expect(`${(found as Fault).message} ${(found as Fault).about.hint}`).not.toContain('CANARY');
});

test.each([
  ['has no code', failed('CANARY')],
  ['has an unknown code', reported('22P02')],
  ['has a code of the server that the system reported', failed('CANARY', { code: '58030' })],
  ['has a code of triggers that the system reported', failed('CANARY', { code: 'P0001' })],
  [
    'is a defect of a trigger of the mirror itself',
    reported('23505', { where: 'PL/pgSQL function mark_residue() line 3 at SQL statement' }),
  ],
  ['is a fault', new Fault('usage', 'CANARY')],
  ['is no error', 'CANARY'],
  ['has a number as its code', failed('CANARY', { code: 53_300 })],
])('an error that %s is returned unchanged', (_, error) => {
  expect(postgresFault(error, url)).toBe(error);
});

test.each<[boolean, string, unknown]>([
  [true, 'is shutting down', reported('57P01')],
  [true, 'is starting up', reported('57P03')],
  [true, 'lost the connection', reported('08006')],
  [true, 'refuses connections', failed('CANARY', { code: 'ECONNREFUSED' })],
  [false, 'has no connection left', reported('53300')],
  [
    false,
    'names a file that cannot be read',
    failed('CANARY', { code: 'ENOENT', syscall: 'open', path: 'ca.pem' }),
  ],
  [false, 'reports an error without a code', failed('CANARY')],
  [
    false,
    'reports several errors, one of them of no socket',
    new AggregateError([failed('a', { code: 'EIO', syscall: 'connect' }), failed('b')]),
  ],
  [false, 'reports no errors at all', new AggregateError([])],
  [false, 'had a fault before', new Fault('database_busy', 'CANARY')],
])('a server counts as away (%s) that %s', (isAway, _, error) => {
  expect(isServerAway(error)).toBe(isAway);
});

test.each<[boolean, string, unknown]>([
  [true, 'an unknown name', reported('26000')],
  [true, 'a name that is taken', reported('42P05')],
  [true, 'changed columns', reported('0A000', { routine: 'RevalidateCachedQuery' })],
  [false, 'something that is not supported', reported('0A000', { routine: 'transformStmt' })],
  [false, 'another code from the same place', reported('23505', { routine: 'RevalidateCachedQuery' })],
  [false, 'such a code that no server reported', failed('CANARY', { code: '26000' })],
])('a prepared statement is lost (%s) after %s', (isLost, _, error) => {
  expect(isStatementLost(error)).toBe(isLost);
});

test('the functions of the mirror that are no functions of another program are those that its migrations create', () => {
  const created = shippedMigrations('postgres').flatMap(({ sql }) =>
    [...sql.matchAll(/CREATE (?:OR REPLACE )?FUNCTION (\w+)[^;]*?LANGUAGE plpgsql/g)].map(([, name]) => name),
  );
  expect(new Set(created)).toEqual(ownTriggerFunctions);
});
