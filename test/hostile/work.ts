import Sqlite from 'better-sqlite3';

/** The work done while a function ran: counts, because times depend on the machine. */
export interface Work {
  /** The most commas, colons and brackets in one parsed text, which determines the cost of parsing. */
  readonly partsMax: number;
  /** Parsed texts and their total length. */
  readonly parsed: number;
  readonly parsedLength: number;
  /** Statements run on any database. */
  readonly statements: number;
}

/** Counts in this process: JSON.parse and every statement of better-sqlite3, which writes the mirror. */
export async function counting<Result>(work: () => Promise<Result>): Promise<[Result, Work]> {
  const counted = { partsMax: 0, parsed: 0, parsedLength: 0, statements: 0 };
  const parse = JSON.parse;
  const uncount = countStatements(() => {
    counted.statements += 1;
  });
  JSON.parse = (text: string, reviver) => {
    counted.parsed += 1;
    counted.parsedLength += text.length;
    counted.partsMax = Math.max(counted.partsMax, partsOf(text));
    return parse(text, reviver);
  };
  try {
    return [await work(), counted];
  } finally {
    JSON.parse = parse;
    uncount();
  }
}

/**
 * Counts every comma, colon and bracket, including those within strings: an upper bound need not be exact.
 */
function partsOf(text: string): number {
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === comma || code === colon || code === bracket || code === brace) parts += 1;
  }
  return parts;
}

const [comma, colon, bracket, brace] = [...',:[{'].map((sign) => sign.charCodeAt(0));

const ways = ['run', 'get', 'all', 'iterate'] as const;

function countStatements(note: () => void): () => void {
  const memory = new Sqlite(':memory:');
  const prototype = Object.getPrototypeOf(memory.prepare('SELECT 1')) as Record<
    string,
    (...args: unknown[]) => unknown
  >;
  memory.close();
  const before = ways.map((way) => [way, prototype[way]] as const);
  for (const [way, original] of before)
    if (original !== undefined)
      prototype[way] = function counted(this: unknown, ...args: unknown[]) {
        note();
        return original.apply(this, args);
      };
  return () => {
    for (const [way, original] of before) if (original !== undefined) prototype[way] = original;
  };
}
