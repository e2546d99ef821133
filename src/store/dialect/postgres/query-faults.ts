import { Fault } from '../../../domain/fault.js';
import { mistakeIn } from '../../mistake.js';
import {
  cannotJudge,
  failedOnRows,
  hasNoPast,
  hasParameters,
  notOneStatement,
  notValid,
  readsPeople,
  resultTooLarge,
  rowTooLarge,
  tooSlow,
} from '../../query-refusals.js';
import { presentOnlyCode } from './as-of.js';
import { postgresFault } from './faults.js';
import { resultTooLargeCode, rowTooLargeCode } from './masked-query.js';
import { declaring, readsOnly, shortAnswer } from './query-without-audit.js';

/** What was asked, and within which limits. */
interface Failing {
  readonly timeoutMs: number;
  readonly url: string;
  readonly statement: string;
  readonly masked: boolean;
  readonly rowBytesMax: number;
  readonly bytesMax: number | null;
}

const writingStatement =
  /near "(?:insert|update|delete|merge|create|drop|alter|truncate|copy|vacuum|set|begin|commit|grant|revoke|call|do|refresh|listen|notify|lock|analyze|reindex)"/i;

/** SQLSTATE classes of errors about values and about what functions do with them. */
const aboutRows = /^(?:22|0A|2[13]|25(?!P0[34])|54|P0|38|39)/;

/** Returns the `Fault` for a failed query. SQLSTATE class 42 is about the statement's text, 22 about values. */
export function queryFault(error: unknown, failing: Failing): unknown {
  const { url, masked } = failing;
  if (error instanceof Fault) return error;
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  if (typeof code !== 'string') return postgresFault(error, url);
  const text = String(message);
  const fault =
    limitFault(code, text, failing) ??
    rightsFault(code, text, masked) ??
    statementFault(error, code, text, failing);
  if (fault !== undefined) return fault;
  return aboutRows.test(code) ? failedOnRows(masked ? withoutValues(code) : text) : postgresFault(error, url);
}

/** Returns the fault of a statement that exceeds what a query may take. */
function limitFault(
  code: string,
  text: string,
  { timeoutMs, rowBytesMax, bytesMax }: Failing,
): Fault | undefined {
  switch (code) {
    case '57014':
      return tooSlow(timeoutMs);
    case presentOnlyCode:
      return hasNoPast(text, `the name with its schema, such as public.${text},`);
    case rowTooLargeCode:
      return rowTooLarge(rowBytesMax);
    case resultTooLargeCode:
      return resultTooLarge(bytesMax ?? rowBytesMax);
    default:
      return undefined;
  }
}

function rightsFault(code: string, text: string, masked: boolean): Fault | undefined {
  if (code !== '42501') return undefined;
  if (!masked)
    return new Fault('usage', `the query failed: ${text}`, {
      hint: 'Names are for the role rosterd_identity, everything else for rosterd_analyst: ask for a grant.',
    });
  return /denied for (?:schema|table|view|column)/.test(text)
    ? readsPeople()
    : cannotJudge('it needs rights that the role rosterd_analyst does not have');
}

/** Returns the fault of a statement whose text is not one that reads. */
function statementFault(error: unknown, code: string, text: string, failing: Failing): Fault | undefined {
  if (isRefusedWrite(code, text)) return readsOnly();
  if (code === '42601' && /multiple commands/.test(text)) return notOneStatement();
  if (code === '42P02') return hasParameters();
  if (!code.startsWith('42')) return undefined;
  return notValid(text, undefined, mistakeIn(failing.statement, text, placeOf(error, failing)));
}

const isRefusedWrite = (code: string, text: string): boolean =>
  code === '25006' ||
  /data-modifying|INTO is not allowed|specify INTO/i.test(text) ||
  (code === '42601' && writingStatement.test(text)) ||
  /cannot open [A-Z ]+ query as cursor/.test(text);

/** The server counts characters from 1, in the text that it was sent. */
function placeOf(error: unknown, { statement, masked }: Failing): number | undefined {
  const { position, internalQuery } = error as {
    readonly position?: string;
    readonly internalQuery?: string;
  };
  if (position === undefined || internalQuery !== undefined) return undefined;
  // While names are masked, the statement is described as it is.
  const before = masked || shortAnswer.test(statement) ? 0 : declaring.length;
  const characters = Array.from(statement);
  const from = Number(position) - 1 - before;
  // A character beyond 16 bits, such as an emoji, is two units of a text here and one character for the server.
  return from >= 0 && from <= characters.length ? characters.slice(0, from).join('').length : undefined;
}

/** The server's messages may quote values. While names are masked, this message replaces them. */
const withoutValues = (code: string): string =>
  `${meanings[code] ?? 'the server refused a value it met'} (SQLSTATE ${code})`;

const meanings: Readonly<Record<string, string>> = {
  '22P02': 'a text cannot be converted to the type that was asked for',
  '22003': 'a number is out of range',
  '22007': 'a text is no date or time',
  '22008': 'a date or time is out of range',
  '22012': 'division by zero',
  '21000': 'a subquery used as a value returned more than one row',
  '54000': 'a value is larger than the server allows',
};
