import { type Path, pathText } from './path.js';

/**
 * A JSON parser that keeps the position of every value. `JSON.parse` reports no line and column on Node 20, quotes the
 * text around a mistake (which may contain a secret) and silently keeps the last of two equal keys. A configuration file
 * is small, so a recursive parser is fast enough; the depth is limited to protect the stack.
 */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface JsonDocument {
  readonly value: unknown;
  /** Returns the position where the value of a path begins. */
  placeOf(path: Path): Place | undefined;
}

export class JsonMistake extends Error {
  constructor(
    message: string,
    readonly place: Place,
  ) {
    super(message);
    this.name = 'JsonMistake';
  }
}

const depthMax = 64;

export function parseJsonText(input: string): JsonDocument {
  const text = input.startsWith('\uFEFF') ? input.slice(1) : input;
  /** Offsets: a place is counted only for a message, because counting each one would take seconds for a thousand sources. */
  const offsets = new Map<string, number>();
  let at = 0;

  const placeAt = (offset: number): Place => {
    const before = text.slice(0, offset);
    return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
  };
  const fail = (message: string, offset = at): never => {
    throw new JsonMistake(message, placeAt(offset));
  };
  const skipSpace = () => {
    while (' \t\r\n'.includes(text[at] ?? 'x')) at += 1;
    if (text.startsWith('//', at) || text.startsWith('/*', at)) fail('comments are not part of JSON');
  };
  const seen = () => {
    const character = text[at];
    return character === undefined ? 'the end of the file' : JSON.stringify(character);
  };

  const readString = (): string => {
    const start = at;
    for (at += 1; text[at] !== '"'; at += 1) {
      if (text[at] === undefined || text[at] === '\n') fail('this string has no closing "', start);
      if (text[at] === '\\') at += 1;
    }
    at += 1;
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return fail('this string contains an escape or control character that JSON does not allow', start);
    }
  };

  const readScalar = (): unknown => {
    const word = /^[^\s,:{}[\]"]+/.exec(text.slice(at, at + 400))?.[0] ?? '';
    if (!/^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(word)) {
      fail(
        word === '' ? `expected a value, found ${seen()}` : 'expected a value; strings need double quotes',
      );
    }
    at += word.length;
    return JSON.parse(word) as unknown;
  };

  const readObject = (path: Path): unknown => {
    const opened = at;
    const object: Record<string, unknown> = {};
    at += 1;
    for (let first = true; ; first = false) {
      skipSpace();
      if (text[at] === '}' && first) break;
      if (text[at] !== '"') {
        fail(text[at] === '}' ? 'remove the comma before }' : `expected a key in "", found ${seen()}`);
      }
      const keyAt = at;
      const key = readString();
      if (Object.hasOwn(object, key)) fail(`${pathText([...path, key])} is written twice`, keyAt);
      skipSpace();
      if (text[at] !== ':') fail(`expected : after the key, found ${seen()}`);
      at += 1;
      const value = readValue([...path, key]);
      // Not an assignment, so that a key named `__proto__` becomes an ordinary property.
      Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
      skipSpace();
      if (text[at] === '}') break;
      if (text[at] === undefined) fail('this { has no closing }', opened);
      if (text[at] !== ',') fail(`expected , or } after a value, found ${seen()}`);
      at += 1;
    }
    at += 1;
    return object;
  };

  const readArray = (path: Path): unknown => {
    const opened = at;
    const array: unknown[] = [];
    at += 1;
    for (;;) {
      skipSpace();
      if (text[at] === ']' && array.length === 0) break;
      if (text[at] === ']') fail('remove the comma before ]');
      array.push(readValue([...path, array.length]));
      skipSpace();
      if (text[at] === ']') break;
      if (text[at] === undefined) fail('this [ has no closing ]', opened);
      if (text[at] !== ',') fail(`expected , or ] after a value, found ${seen()}`);
      at += 1;
    }
    at += 1;
    return array;
  };

  const readValue = (path: Path): unknown => {
    skipSpace();
    if (path.length > depthMax) fail(`nested deeper than ${depthMax} levels`);
    offsets.set(pathText(path), at);
    if (text[at] === '{') return readObject(path);
    if (text[at] === '[') return readArray(path);
    return text[at] === '"' ? readString() : readScalar();
  };

  const value = readValue([]);
  skipSpace();
  if (at < text.length) fail(`expected the end of the file, found ${seen()}`);
  return {
    value,
    placeOf: (path) => {
      const offset = offsets.get(pathText(path));
      return offset === undefined ? undefined : placeAt(offset);
    },
  };
}
