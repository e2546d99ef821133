import { type Path, pathText } from './path.js';

/**
 * A JSON parser that keeps the position of every value. `JSON.parse` reports no line for some mistakes, quotes the text
 * around a mistake (which may contain a secret) and silently keeps the last of two equal keys. A configuration file
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

/** Throws `JsonMistake` with the position of the first mistake. */
export function parseJsonText(input: string): JsonDocument {
  const parser = new Parser(input.startsWith('\uFEFF') ? input.slice(1) : input);
  const value = parser.document();
  return {
    value,
    placeOf: (path) => {
      const offset = parser.offsets.get(pathText(path));
      return offset === undefined ? undefined : parser.placeAt(offset);
    },
  };
}

class Parser {
  /** By path. A place is counted only for a message, because counting each one would take seconds for a thousand sources. */
  readonly offsets = new Map<string, number>();
  #at = 0;

  constructor(private readonly text: string) {}

  document(): unknown {
    const value = this.#value([]);
    this.#skipSpace();
    if (this.#at < this.text.length) this.#fail(`expected the end of the file, found ${this.#seen()}`);
    return value;
  }

  placeAt(offset: number): Place {
    const before = this.text.slice(0, offset);
    return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
  }

  #value(path: Path): unknown {
    this.#skipSpace();
    if (path.length > depthMax) this.#fail(`nested deeper than ${depthMax} levels`);
    this.offsets.set(pathText(path), this.#at);
    const first = this.text[this.#at];
    if (first === '{') return this.#object(path);
    if (first === '[') return this.#array(path);
    return first === '"' ? this.#string() : this.#scalar();
  }

  #object(path: Path): unknown {
    const opened = this.#at;
    const object: Record<string, unknown> = {};
    this.#at += 1;
    for (let isFirst = true; ; isFirst = false) {
      this.#skipSpace();
      if (this.#is('}') && isFirst) break;
      if (this.#is('}')) this.#fail('remove the comma before }');
      if (!this.#is('"')) this.#fail(`expected a key in double quotes, found ${this.#seen()}`);
      const keyAt = this.#at;
      const key = this.#string();
      if (Object.hasOwn(object, key)) this.#fail(`${pathText([...path, key])} is written twice`, keyAt);
      this.#skipSpace();
      if (!this.#is(':')) this.#fail(`expected : after the key, found ${this.#seen()}`);
      this.#at += 1;
      const value = this.#value([...path, key]);
      // Not an assignment, so that a key named `__proto__` becomes an ordinary property.
      Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
      if (this.#endsAfterValue('}', opened)) break;
    }
    this.#at += 1;
    return object;
  }

  #array(path: Path): unknown {
    const opened = this.#at;
    const array: unknown[] = [];
    this.#at += 1;
    for (;;) {
      this.#skipSpace();
      if (this.#is(']') && array.length === 0) break;
      if (this.#is(']')) this.#fail('remove the comma before ]');
      array.push(this.#value([...path, array.length]));
      if (this.#endsAfterValue(']', opened)) break;
    }
    this.#at += 1;
    return array;
  }

  /** Returns true at the closing bracket; skips a comma. */
  #endsAfterValue(closing: '}' | ']', opened: number): boolean {
    this.#skipSpace();
    if (this.#is(closing)) return true;
    if (this.text[this.#at] === undefined)
      this.#fail(`this ${this.text[opened]} has no closing ${closing}`, opened);
    if (!this.#is(',')) this.#fail(`expected , or ${closing} after a value, found ${this.#seen()}`);
    this.#at += 1;
    return false;
  }

  #string(): string {
    const start = this.#at;
    const { text } = this;
    let at = start + 1;
    for (; text[at] !== '"'; at += 1) {
      if (text[at] === undefined || text[at] === '\n') this.#fail('this string has no closing "', start);
      if (text[at] === '\\') at += 1;
    }
    this.#at = at + 1;
    try {
      return JSON.parse(text.slice(start, at + 1)) as string;
    } catch {
      return this.#fail(
        'this string contains an escape or control character that JSON does not allow',
        start,
      );
    }
  }

  #scalar(): unknown {
    const word = /^[^\s,:{}[\]"]+/.exec(this.text.slice(this.#at, this.#at + 400))?.[0] ?? '';
    if (word === '') this.#fail(`expected a value, found ${this.#seen()}`);
    if (!/^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(word))
      this.#fail('expected a value; strings need double quotes');
    this.#at += word.length;
    return JSON.parse(word) as unknown;
  }

  #skipSpace(): void {
    const { text } = this;
    while (' \t\r\n'.includes(text[this.#at] ?? 'x')) this.#at += 1;
    if (text.startsWith('//', this.#at) || text.startsWith('/*', this.#at))
      this.#fail('comments are not part of JSON');
  }

  #is(character: string): boolean {
    return this.text[this.#at] === character;
  }

  #seen(): string {
    const character = this.text[this.#at];
    return character === undefined ? 'the end of the file' : JSON.stringify(character);
  }

  #fail(message: string, offset = this.#at): never {
    throw new JsonMistake(message, this.placeAt(offset));
  }
}
