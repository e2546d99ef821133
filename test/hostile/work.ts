import Sqlite from 'better-sqlite3';

/** What was done while something ran: counted, since time says more about the machine. */
export interface Work {
  /** The most commas, colons and brackets in one text that was parsed, which is what parsing costs. */
  readonly partsMax: number;
  /** Texts that were parsed, and their length together. */
  readonly parsed: number;
  readonly parsedLength: number;
  /** Statements that were run on any database. */
  readonly statements: number;
}

/** Counts in this process: JSON.parse and every statement of better-sqlite3, which the mirror is written by. */
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

/** Every comma, colon and bracket, within texts too: an upper bound needs no exactness. */
function partsOf(text: string): number {
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === ',' || sign === ':' || sign === '[' || sign === '{') parts += 1;
  }
  return parts;
}

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
