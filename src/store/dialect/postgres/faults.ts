import { Fault } from '../../../domain/fault.js';
import { sqlName } from '../../../domain/sql-name.js';
import { descriptorsFault } from '../../../runtime/file-descriptors.js';
import { tlsProblem } from '../../../runtime/tls-problem.js';

/**
 * Returns the `Fault` for an error of PostgreSQL or of the connection to it. Errors that are not listed (constraints,
 * misuse, a value of the wrong type) are bugs of rosterd and are returned unchanged. `url` must be without its password.
 * The driver's message is kept only as the cause, because it may quote a row.
 */
export function postgresFault(error: unknown, url: string): unknown {
  const spent = descriptorsFault(error);
  if (spent !== null) return spent;
  if (error instanceof Error && error.message === noTlsInWords)
    return new Fault('database_busy', `${url} cannot be reached: the server offers no TLS`, {
      hint: 'switch ssl on at the server, or take sslmode out of the URL of "database"',
      lasting: true,
      cause: error,
    });
  if (error instanceof Error && noPasswordInWords.test(error.message))
    return new Fault('database_unusable', `${url} asks for a password and was given none`, {
      hint: 'Set "databasePassword", such as {"env": "DB_PASSWORD"}, or PGPASSWORD, or ~/.pgpass.',
      cause: error,
    });
  const code = codeOf(error);
  if (code === null) return error;
  return connectionFault(error, code, url) ?? serverFault(error, code, url) ?? error;
}

/** Returns the fault of a connection that could not be made, was lost, or lost what was prepared on it. */
function connectionFault(error: unknown, code: string, url: string): Fault | undefined {
  if (isOfFile(error))
    return new Fault('database_busy', `${url} cannot be reached: ${error.path} cannot be read (${code})`, {
      hint: 'check sslrootcert, sslcert and sslkey in the URL of "database"',
      lasting: true,
      cause: error,
    });
  const refused = refusedWhen[code];
  if (refused !== undefined)
    return new Fault('database_busy', `${url} ${refused.what} (${code})`, {
      hint: refused.hint,
      lasting: true,
      cause: error,
    });
  const tls = tlsProblem(code, {
    trust: 'sslrootcert in the URL of "database"',
    address: 'the URL of "database"',
  });
  if (tls !== null)
    return new Fault('database_busy', `${url} cannot be reached: ${tls.what} (${code})`, {
      hint: tls.next,
      lasting: true,
      cause: error,
    });
  const parameter = refusedParameter(error);
  if (parameter !== null)
    return new Fault('database_busy', `${url} refuses the parameter ${parameter} of a connection (${code})`, {
      hint: 'A connection pooler is in between. Take options out of the URL of "database", and give them to the login: ALTER ROLE … SET search_path = …',
      lasting: true,
      cause: error,
    });
  if (isConnectionLoss(code) || isOfSocket(error))
    return new Fault('database_busy', `${url} cannot be reached or closed the connection (${code})`, {
      hint: `Start PostgreSQL or wait for it; nothing was lost. ${goesOn}`,
      cause: error,
    });
  if (isStatementLost(error))
    return new Fault(
      'database_busy',
      `${url} no longer has a prepared statement of this connection (${code})`,
      {
        hint: 'Work goes on over another connection. If it stays, a connection pooler is in between: it must be in session mode.',
        cause: error,
      },
    );
  return undefined;
}

/** Returns the fault of a server that is there and does not do what it was asked. */
function serverFault(error: unknown, code: string, url: string): Fault | undefined {
  if (isRecoveryConflict(error))
    return new Fault(
      'database_busy',
      `${url} is a standby that ended a read to replay its primary (${code})`,
      {
        hint: 'Run it again. If it stays, raise max_standby_streaming_delay or set hot_standby_feedback = on at the standby, or read from the primary.',
        cause: error,
      },
    );
  const busy = busyWhen[code];
  if (busy !== undefined)
    return new Fault('database_busy', `${url} ${busy} (${code})`, {
      hint: `Nothing was lost. ${goesOn} If it stays, ${wayOut[code] ?? 'look for long transactions in pg_stat_activity'}.`,
      ...(lockedWhen.has(code) ? { locked: true } : {}),
      cause: error,
    });
  const why = fullWhen[code];
  if (why !== undefined)
    return new Fault('database_full', `${url} ${why} (${code})`, {
      hint: `Free space on the server; nothing was lost. ${goesOn}`,
      cause: error,
    });
  if (code === '42501') return denied(error, url);
  const lacking = lackingWhen[code];
  if (lacking !== undefined) return lacks(error, code, lacking, url);
  const unusable = unusableWhen[code];
  if (unusable !== undefined)
    return new Fault('database_unusable', `${url} ${unusable.what} (${code})`, {
      hint: unusable.hint,
      cause: error,
    });
  const foreign = foreignCode(error, code);
  if (foreign !== null)
    return new Fault('database_unusable', `${url} has ${foreign} that refused it (${code})`, {
      hint: 'It is not part of rosterd. SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE NOT tgisinternal lists triggers; the log of the server has its words. A daemon goes on by itself.',
      cause: error,
    });
  const troubled = isOfServer(error) ? (troubledWhen[code] ?? troubledWhen[code.slice(0, 2)]) : undefined;
  if (troubled !== undefined)
    return new Fault('database_busy', `${url} ${troubled} (${code})`, {
      hint: `${goesOn} Until that is over, the log of the server has the cause.`,
      cause: error,
    });
  return undefined;
}

/** The server names a schema or a relation. A trigger of another program may raise any text, which is left out. */
function denied(error: unknown, url: string): Fault {
  const text = error instanceof Error ? error.message : '';
  const [, hiding] =
    /^query would be affected by row-level security policy for table "(\w+)"$/.exec(text) ?? [];
  if (hiding !== undefined)
    return new Fault(
      'database_unusable',
      `${url} hides rows of ${hiding} from the login that owns them (42501)`,
      {
        hint: `As this login or an administrator: ALTER TABLE ${hiding} NO FORCE ROW LEVEL SECURITY. A daemon then goes on by itself.`,
        cause: error,
      },
    );
  const [, closed] = /^permission denied for database "(.+)"$/.exec(text) ?? [];
  if (closed !== undefined)
    return new Fault('database_unusable', `${url} does not let this user connect (42501)`, {
      hint: `As an administrator: GRANT CONNECT ON DATABASE ${sqlName(closed)} TO ${sqlName(userOf(url))}. A daemon then goes on by itself.`,
      cause: error,
    });
  const [what] = /^permission denied for [a-z ]+ \S+$/.exec(text) ?? [];
  return new Fault(
    'database_unusable',
    `${url} does not let this user do that${what === undefined ? '' : `: ${what}`} (42501)`,
    {
      hint: 'Reading rows needs the role rosterd_analyst, reading names rosterd_identity. Status, the lake and every write need the login that owns the schema of the mirror; it may need CREATE on the database.',
      cause: error,
    },
  );
}

/** The functions of rosterd's own triggers. What fails in them is a trouble of the server, or a defect. */
export const ownTriggerFunctions: ReadonlySet<string> = new Set(['mark_residue', 'forget_digest']);

/** Classes of errors that only functions of triggers raise. rosterd's own raise none. */
const ofTriggers = /^(?:P0|09|27|38|39)/;

/** Returns what a trigger of another program is called in a message; null for any other error. Its text may quote a row. */
function foreignCode(error: unknown, code: string): string | null {
  if (!isOfServer(error)) return null;
  // The innermost call comes first. A function outside of the search path has its schema before its name.
  const [, name] = /PL\/pgSQL function ([\w.]+)\(/.exec(error.where ?? '') ?? [];
  if (name !== undefined && ownTriggerFunctions.has(name.replace(/^.*\./, ''))) return null;
  if (name !== undefined) return `a trigger or function ${name}()`;
  return ofTriggers.test(code) ? 'a trigger or function' : null;
}

/** Returns the user of an address; the driver takes that of the system where it names none. */
const userOf = (url: string): string => decodeURIComponent(URL.parse(url)?.username ?? '') || 'USER';

export async function withPostgresFaults<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw postgresFault(error, url);
  }
}

const goesOn = 'A daemon goes on by itself; run a command again.';

/** What to do about conditions that stay, other than ending long transactions. */
const wayOut: Readonly<Record<string, string>> = {
  '25006':
    'name the primary under "database", switch default_transaction_read_only off, and put no pooler in transaction mode in between',
  '53300':
    'raise max_connections or the limit of the role, or close other connections: pg_stat_activity lists them',
};

/** Conditions that pass by themselves, so a retry helps. */
const busyWhen: Readonly<Record<string, string>> = {
  '25006': 'accepts no writes: it is a standby or read-only',
  '25P03': 'ended a transaction that was idle too long',
  '40001': 'rolled the transaction back because of a concurrent one',
  '40P01': 'rolled the transaction back to end a deadlock',
  '53200': 'is out of memory',
  '53300': 'has no connection left',
  '55P03': 'did not grant a lock in time: another transaction has it',
  '57014': 'canceled a statement that took too long',
  '57P01': 'ended the session: it is being shut down, or an administrator ended it',
  '57P02': 'is restarting after a crash',
  '57P03': 'is starting up or shutting down',
  '57P05': 'ended a session that was idle too long',
};

/** A statement that waits for a lock is ended by either limit. */
const lockedWhen: ReadonlySet<string> = new Set(['55P03', '57014']);

/**
 * Troubles of the server that no statement of rosterd can cause, by code or by the class of the code. What ends them is
 * unknown here, so they are retried. Managed servers and poolers report their own troubles as XX000 too.
 */
const troubledWhen: Readonly<Record<string, string>> = {
  '25P04': 'ended a transaction that took longer than its transaction_timeout',
  '40': 'rolled the transaction back',
  '53': 'has reached one of its limits',
  '53400': 'has reached a limit of its configuration, such as temp_file_limit',
  '57': 'was interrupted by an operator',
  '58': 'had an error of its operating system',
  '58030': 'cannot read or write its files',
  F0: 'has an error in its configuration',
  XX: 'had an internal error',
};

const fullWhen: Readonly<Record<string, string>> = { '53100': 'has no room left on its disk' };

/** A new password takes effect with the next connection, so these are retried. */
const refusedWhen: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  '28000': {
    what: 'refuses this user',
    hint: 'check the user in the URL, that its role may log in (ALTER ROLE … LOGIN), and the server’s pg_hba.conf',
  },
  '28P01': {
    what: 'refuses the password',
    hint: 'check the password of the URL, or where it comes from, and that it has not expired (VALID UNTIL of the role)',
  },
};

const lackingWhen: Readonly<Record<string, string>> = { '42P01': 'table or view', '42703': 'column' };

/** The server names the relation or the column in quotes, or a column with the alias of its table. */
function lacks(error: unknown, code: string, what: string, url: string): Fault {
  const [, quoted, plain] =
    /^(?:relation|column) (?:"([\w.]+)"|(\w+\.\w+)) (?:of relation "\w+" )?does not exist$/.exec(
      error instanceof Error ? error.message : '',
    ) ?? [];
  const name = quoted ?? plain;
  return new Fault(
    'database_unusable',
    `${url} lacks ${name === undefined ? `a ${what}` : `the ${what} ${name}`} that this version reads: an earlier version of rosterd wrote it, or it was renamed or dropped (${code})`,
    {
      hint: 'Start `rosterd run`, or run `rosterd sync`: they create and upgrade a mirror. What was renamed or dropped has to be put back, or a backup restored.',
      cause: error,
    },
  );
}

const unusableWhen: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  '3D000': { what: 'does not exist', hint: 'Create the database first: createdb NAME.' },
  '3F000': { what: 'lacks a schema', hint: 'Check the search_path of the connection.' },
  XX001: { what: 'has a damaged table', hint: 'Check the server’s disk and its log; restore a backup.' },
  XX002: { what: 'has a damaged index', hint: 'Run REINDEX DATABASE, and check the server’s disk.' },
};

const connectionLosses: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'closed',
]);

/**
 * Whether the system refused a call of the socket: no local port is left (EADDRNOTAVAIL), a firewall forbids it (EPERM,
 * EACCES), the network is down (ENETDOWN), the queue of a Unix socket is full (EAGAIN), and so on.
 */
function isOfSocket(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOfSocket) && error.errors.length > 0;
  return error instanceof Error && 'syscall' in error && socketCalls.has(error.syscall);
}

/** A file that the URL names: the driver reads it for each connection. */
function isOfFile(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && error.syscall === 'open' && 'path' in error;
}

const socketCalls: ReadonlySet<unknown> = new Set(['connect', 'read', 'write', 'shutdown', 'getaddrinfo']);

/** What the server reports, as the driver has it. Its class is not imported: a mirror in a file does without the driver. */
interface ServerError extends Error {
  readonly severity: string;
  readonly code?: string;
  /** The calls in which it happened, such as `PL/pgSQL function guard() line 1 at RAISE`. */
  readonly where?: string;
  /** The function of the server that reported it. */
  readonly routine?: string;
}

const isOfServer = (error: unknown): error is ServerError => error instanceof Error && 'severity' in error;

/**
 * Whether server and driver disagree about the prepared statements of a connection: a pooler gave the session to another
 * client, or the schema changed. The driver does not prepare them again, so the connection is of no use any more.
 */
export function isStatementLost(error: unknown): boolean {
  if (!isOfServer(error)) return false;
  // Not found; exists already; or its columns are not those it had when it was prepared.
  if (error.code === '26000' || error.code === '42P05') return true;
  return error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** Returns the parameter of a new connection that a pooler such as PgBouncer refuses; null for any other error. */
export function refusedParameter(error: unknown): string | null {
  if (!isOfServer(error) || error.code !== '08P01') return null;
  return /startup parameter(?: in options)?: ([a-z_.]+)/.exec(error.message)?.[1] ?? null;
}

/** A standby has no concurrent writers: there, the server reports this code where it handles interrupts. */
const isRecoveryConflict = (error: unknown): boolean =>
  isOfServer(error) && error.code === '40001' && /Interrupt|Recovery/.test(error.routine ?? '');

/** SQLSTATE class 08 is "connection exception". */
function isConnectionLoss(code: string): boolean {
  return connectionLosses.has(code) || /^08...$/.test(code);
}

/** Codes of a server that is shutting down or starting up. */
const notServing: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03']);

/** Whether the server is unreachable, shutting down or starting up, as opposed to refusing the request. */
export function isServerAway(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && (isConnectionLoss(code) || isOfSocket(error) || notServing.has(code));
}

/** The driver reports these two in words, without a code. */
const noPasswordInWords = /^SASL: .*client password must be a (?:non-empty )?string/;
const noTlsInWords = 'The server does not support SSL connections';

/** The driver's messages, without a code, for a server that did not answer in time. */
const timedOutInWords =
  /^(?:Connection terminated due to connection timeout|timeout expired|timeout exceeded when trying to connect|Query read timeout)/;

/** The same for a connection that was lost or is of no use any more. */
const lostInWords =
  /^(?:Connection terminated|Client (?:has encountered|was closed)|Cannot use a pool after|There was an error establishing an SSL connection)/;

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof Fault) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // A host name with several addresses: one error for each.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (timedOutInWords.test(error.message)) return 'ETIMEDOUT';
  return lostInWords.test(error.message) ? 'closed' : null;
}
