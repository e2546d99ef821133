import type Sqlite from 'better-sqlite3';
import {
  auditTables,
  cannotCheckAudit,
  cannotJudge,
  hasParameters,
  readsAudit,
  readsPeople,
} from '../../query-refusals.js';
import type { SqlValue } from '../port.js';
import { closedTables, hiddenColumns, openTables } from './masked-tables.js';
import { callingInstructions, knownInstructions, openModules, plainFunctions } from './program-words.js';
import { lacksParameters, prepareReading } from './reading-statement.js';

/**
 * Compiles a statement to run while names are masked. Throws `usage` if it could read names. Begins a read transaction,
 * unless there is one, and leaves it open: root pages move when the file is rewritten, and within one transaction the
 * schema cannot change, so the program that was checked is the one that runs.
 */
export function prepareMasked(
  raw: Sqlite.Database,
  statement: string,
): Sqlite.Statement<unknown[], SqlValue[]> {
  const prepared = prepareReading(raw, statement);
  if (!raw.inTransaction) raw.exec('BEGIN');
  raw.prepare('SELECT 1 FROM sqlite_schema').get();
  checkProgram(raw, statement);
  return prepared;
}

/** Compiles a statement as `prepareMasked` does. Throws `usage` if it could read the audit log, and only then. */
export function prepareWithoutAudit(
  raw: Sqlite.Database,
  statement: string,
): Sqlite.Statement<unknown[], SqlValue[]> {
  const prepared = prepareReading(raw, statement);
  if (!raw.inTransaction) raw.exec('BEGIN');
  raw.prepare('SELECT 1 FROM sqlite_schema').get();
  const program = explained(raw, statement.replace(explaining, ''));
  if (program === null || program.length === 0 || !program.every(isInstruction)) throw cannotCheckAudit();
  const closed = auditTrees(raw);
  for (const instruction of program) {
    if (!opensTree(instruction)) continue;
    const { p2, p3, p5 } = instruction;
    if ((p5 & pageInRegister) !== 0) throw cannotCheckAudit();
    if (p3 === 0 && closed.has(p2)) throw readsAudit();
  }
  return prepared;
}

/** Returns the root pages of these tables and their indexes, and of the planner's samples of any table's values. */
function auditTrees(raw: Sqlite.Database): ReadonlySet<number> {
  const closed: readonly string[] = [...auditTables, 'sqlite_stat4'];
  const entries = raw
    .prepare<[], { tbl_name: string; rootpage: number }>(
      'SELECT tbl_name, rootpage FROM main.sqlite_schema WHERE rootpage > 0',
    )
    .all();
  return new Set(entries.filter((entry) => closed.includes(entry.tbl_name)).map(({ rootpage }) => rootpage));
}

/**
 * Throws if a statement could read names. It checks the compiled program that EXPLAIN lists, not the text. A program can
 * reach a table in two ways only: `OpenRead` and `ReopenIdx` with the root page of a b-tree, and `VOpen` with a virtual
 * table. Every root page has to belong to an open table, every virtual table and function has to be one that reads no
 * other data, and every instruction has to be known. A program that cannot be checked is refused.
 */
function checkProgram(raw: Sqlite.Database, statement: string): void {
  const program = programOf(raw, statement.replace(explaining, ''));
  const trees = openTrees(raw);
  /** By cursor: the positions of the columns that must not be read through it. */
  const hidden = new Map<number, readonly number[]>();
  for (const instruction of program) {
    const { opcode, p1, p4 } = instruction;
    if (!knownInstructions.has(opcode))
      throw cannotJudge(`it runs ${opcode}, which is not known to be harmless`);
    if (opensTree(instruction)) hidden.set(p1, [...(hidden.get(p1) ?? []), ...hiddenIn(instruction, trees)]);
    else if (opcode === 'VOpen') requireOpenModule(raw, p4);
    else if (callingInstructions.has(opcode)) requireInnocuous(raw, p4);
  }
  // A second pass, because a program may jump: a cursor may refer to any table that any instruction opens it on.
  for (const { opcode, p1, p2 } of program) {
    const columns = hidden.get(p1) ?? [];
    if (opcode === 'Column' && columns.includes(p2)) throw readsPeople();
    if (opcode === 'RowData' && columns.length > 0) throw readsPeople();
  }
}

const opensTree = ({ opcode }: Instruction): boolean => opcode === 'OpenRead' || opcode === 'ReopenIdx';

/** Returns the positions of the hidden columns of the tree that the instruction opens. Throws `usage` for a closed one. */
function hiddenIn(
  instruction: Instruction,
  trees: ReadonlyMap<number, readonly number[]>,
): readonly number[] {
  if (!namesItsTree(instruction)) throw cannotJudge('it opens a table that it does not name');
  const columns = trees.get(instruction.p2);
  if (columns === undefined) throw readsPeople();
  return columns;
}

interface Instruction {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p3: number;
  readonly p4: string | null;
  readonly p5: number;
}

/** EXPLAIN itself runs nothing, so the statement it explains is checked instead. */
const explaining = /^explain(?![\w$])(?:\s+query\s+plan(?![\w$]))?/i;

/** SQLite's OPFLAG_P2ISREG: the root page is in a register and known only at run time. */
const pageInRegister = 0x10;

/** Whether the instruction names a fixed root page in the main database, not in a temporary or attached one. */
const namesItsTree = ({ p3, p5 }: Instruction): boolean => p3 === 0 && (p5 & pageInRegister) === 0;

function programOf(raw: Sqlite.Database, statement: string): readonly Instruction[] {
  const program = explained(raw, statement);
  if (program === null || program.length === 0 || !program.every(isInstruction))
    throw cannotJudge('SQLite does not explain what it would read');
  return program;
}

/** Returns the program, or null if EXPLAIN fails. Throws `usage` for a statement with parameters. */
function explained(raw: Sqlite.Database, statement: string): readonly Instruction[] | null {
  try {
    return raw.prepare<[], Instruction>(`EXPLAIN ${statement}`).all();
  } catch (error) {
    if (lacksParameters(error)) throw hasParameters();
    return null;
  }
}

function isInstruction({ opcode, p1, p2, p3, p4, p5 }: Instruction): boolean {
  const numbers = [p1, p2, p3, p5].every((value) => typeof value === 'number');
  return typeof opcode === 'string' && numbers && (p4 === null || typeof p4 === 'string');
}

/** Returns the root pages a statement may open, each with the positions of the columns it must not read. */
function openTrees(raw: Sqlite.Database): ReadonlyMap<number, readonly number[]> {
  // Page 1 is the root page of sqlite_schema.
  const trees = new Map<number, readonly number[]>([[1, []]]);
  const entries = raw
    .prepare<[], { type: string; name: string; tbl_name: string; rootpage: number | null }>(
      "SELECT type, name, tbl_name, rootpage FROM main.sqlite_schema WHERE type IN ('table', 'index')",
    )
    .all();
  for (const { type, name, tbl_name: table, rootpage } of entries) {
    if (rootpage === null || rootpage === 0 || closedTables.has(table)) continue;
    const hidden = hiddenColumns[table];
    if (hidden === undefined && openTables.has(table)) trees.set(rootpage, []);
    else if (hidden !== undefined && type === 'table') trees.set(rootpage, positionsOf(raw, table, hidden));
    else if (hidden !== undefined && !indexHolds(raw, name, hidden)) trees.set(rootpage, []);
  }
  return trees;
}

/**
 * Returns the columns' positions in a stored row of the main database; a temporary view may have the table's name.
 * Generated columns shift them, so a table with one is hidden whole.
 */
function positionsOf(raw: Sqlite.Database, table: string, hidden: readonly string[]): readonly number[] {
  const columns = raw
    .prepare<[string], { cid: number; name: string; hidden: number }>(
      "SELECT * FROM pragma_table_xinfo(?, 'main')",
    )
    .all(table);
  const plain = columns.every((column) => column.hidden === 0);
  return columns.filter(({ name }) => !plain || hidden.includes(name)).map(({ cid }) => cid);
}

/** Whether an index contains a hidden column. An expression has no name, so an index with one counts as if it did. */
function indexHolds(raw: Sqlite.Database, index: string, hidden: readonly string[]): boolean {
  const names = raw
    .prepare<[string], string | null>("SELECT name FROM pragma_index_xinfo(?, 'main') WHERE cid <> -1")
    .pluck()
    .all(index);
  return names.some((name) => name === null || hidden.includes(name));
}

/**
 * Throws unless the virtual table belongs to an open module. EXPLAIN shows a virtual table only by its address. A
 * connection has one object for each table-valued function, so compiling a statement that uses an open module reveals its
 * address.
 */
function requireOpenModule(raw: Sqlite.Database, address: string | null): void {
  const addresses = openModules.flatMap((module) => addressOf(raw, module));
  // If two modules share an address, an address identifies nothing.
  const areUnique = new Set(addresses).size === addresses.length;
  if (address === null || !areUnique || !addresses.includes(address)) throw unknownModule();
}

/** Returns no address for a module that this build of SQLite lacks. */
function addressOf(raw: Sqlite.Database, module: string): readonly string[] {
  const opened =
    explained(raw, `SELECT 1 FROM main.${module}`)?.filter(({ opcode }) => opcode === 'VOpen') ?? [];
  return opened.length === 1
    ? [opened[0]?.p4 ?? ''].filter((address) => /^vtab:[0-9A-Fa-fx]+$/.test(address))
    : [];
}

const unknownModule = () =>
  cannotJudge('it reads a virtual table that may show more than json_each and pragma_table_info do');

/** SQLITE_INNOCUOUS: the function has no side effects and its result depends only on its arguments. */
const innocuous = 0x200000;

function requireInnocuous(raw: Sqlite.Database, called: string | null): void {
  const name = /^(.+)\(-?\d+\)$/.exec(called ?? '')?.[1] ?? '';
  if (plainFunctions.has(name)) return;
  const flags = raw
    .prepare<[string], number>('SELECT flags FROM pragma_function_list WHERE name = ? COLLATE NOCASE')
    .pluck()
    .all(name);
  if (flags.length === 0 || flags.some((flag) => (flag & innocuous) === 0))
    throw cannotJudge(
      `it calls ${name === '' ? 'a function without a name' : `${name}()`}, which may read more than its arguments`,
    );
}
