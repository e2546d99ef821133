import { Fault } from '../domain/fault.js';
import { isIdShaped } from '../domain/ids.js';
import { parseInstant } from '../domain/instant.js';
import { canonicalJson, isDeeper, type Json, type JsonObject, readableLevelsMax } from '../domain/json.js';
import { parseCents } from '../domain/money.js';
import { storableText } from '../domain/text.js';
import { withArticle } from '../domain/with-article.js';

/** Readers for fields of company, offering and post. A field of another type than expected is an error, not null. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function broken(what: string, field: string): Fault {
  return new Fault('contract_broken', `a response with ${withArticle(what)} has no usable \`${field}\``);
}

/**
 * Throws when a response has more entries than any valid one. Each entry costs a request or a write, and the writes of a
 * listing are one commit, which blocks the event loop on SQLite.
 */
export function requireAtMost(max: number, count: number, what: string, entries: string): void {
  if (count > max)
    throw new Fault(
      'contract_broken',
      `a response with ${withArticle(what)} has ${count} ${entries}, and at most ${max} are accepted`,
    );
}

/** Returns what a response was parsed into. Throws when it is about another company or round than the one asked for. */
export function about<Parsed extends { readonly row: { readonly id?: unknown } }>(
  what: string,
  asked: string,
  parsed: Parsed,
): Parsed {
  if (parsed.row.id !== asked) throw broken(what, 'id');
  return parsed;
}

/** The limits of a record of an investment, far above what the platform sends: they are sorted, stored and compared. */
const unknownFieldsMax = 200;
const valuesMax = 2_000;

/** Reads the fields of one resource and names the resource in errors. */
export class Reader {
  constructor(
    private readonly what: string,
    private readonly fields: Fields,
  ) {}

  text(name: string): string | null {
    const value = this.fields[name] ?? null;
    if (value === null) return null;
    if (typeof value !== 'string') throw broken(this.what, name);
    return storableText(value);
  }

  required(name: string): string {
    const text = this.text(name);
    if (text === null || text === '') throw broken(this.what, name);
    return text;
  }

  /** An id that no database can store, or no person read, would be another one after it was made storable. */
  id(name: string): string | null {
    const value = this.fields[name] ?? null;
    if (value === null) return null;
    if (!isIdShaped(value)) throw broken(this.what, name);
    return value;
  }

  flag(name: string): 0 | 1 | null {
    const value = this.fields[name] ?? null;
    if (value === null) return null;
    if (typeof value !== 'boolean') throw broken(this.what, name);
    return value ? 1 : 0;
  }

  count(name: string): number | null {
    const value = this.fields[name] ?? null;
    if (value === null) return null;
    const count = parseCents(value);
    if (count === undefined) throw broken(this.what, name);
    return count;
  }

  /** Returns `NAME_cents`, or the older decimal `NAME` converted exactly. */
  cents(name: string): number | null {
    const cents = this.fields[`${name}_cents`] ?? null;
    if (cents !== null) return this.count(`${name}_cents`);
    const dollars = this.fields[name] ?? null;
    if (dollars === null) return null;
    const exact = typeof dollars === 'string' ? centsOf(dollars) : undefined;
    if (exact === undefined) throw broken(this.what, name);
    return exact;
  }

  time(name: string): string | null {
    const value = this.fields[name] ?? null;
    if (value === null) return null;
    const instant = parseInstant(value);
    if (instant === undefined) throw broken(this.what, name);
    return instant;
  }

  inside(name: string): Reader {
    return new Reader(this.what, fieldsOf(this.fields[name]));
  }

  list(name: string): readonly Fields[] {
    const value = this.fields[name] ?? [];
    if (!Array.isArray(value)) throw broken(this.what, name);
    return value.map(fieldsOf);
  }

  /**
   * Returns the fields that are not in `known` as JSON, or null. `inner` has the known fields of those that are an object or a
   * list of objects, whose unknown fields stand under their name.
   */
  extra(
    known: ReadonlySet<string>,
    inner: Readonly<Record<string, ReadonlySet<string>>> = {},
  ): string | null {
    const unknown = Object.entries(this.fields).flatMap(([name, value]) => {
      const own = known.has(name) ? unknownIn(value, inner[name]) : value;
      return own === undefined ? [] : [[name, own] as const];
    });
    requireAtMost(unknownFieldsMax, unknown.length, this.what, 'unknown fields');
    for (const [name, value] of unknown) this.#requireReadable(name, value);
    return unknown.length === 0 ? null : canonicalJson(Object.fromEntries(unknown) as JsonObject);
  }

  json(name: string): string | null {
    const value = this.fields[name] ?? null;
    this.#requireReadable(name, value);
    return value === null ? null : canonicalJson(value as Json);
  }

  #requireReadable(name: string, value: unknown): void {
    if (isDeeper(value, readableLevelsMax)) throw broken(this.what, name);
    requireAtMost(valuesMax, valuesIn(value), this.what, `values in \`${name}\``);
  }
}

/** Returns what of a known field is unknown; undefined when nothing is. The entries of a list keep the id of their round. */
function unknownIn(value: unknown, known: ReadonlySet<string> | undefined): unknown {
  if (known === undefined) return undefined;
  const unknownOf = (fields: Fields) => Object.entries(fields).filter(([name]) => !known.has(name));
  if (!Array.isArray(value)) {
    const own = unknownOf(fieldsOf(value));
    return own.length === 0 ? undefined : Object.fromEntries(own);
  }
  const entries = value.flatMap((entry: unknown) => {
    const fields = fieldsOf(entry);
    const own = unknownOf(fields);
    return own.length === 0 ? [] : [{ offering_id: fields.offering_id ?? null, ...Object.fromEntries(own) }];
  });
  return entries.length === 0 ? undefined : entries;
}

/** Counts the values of JSON that is not nested too deeply. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + valuesIn(inner), 1);
}

const dollarShape = /^(-?)(\d{1,15})(?:\.(\d{1,2}))?$/;

/** Returns the cents of a decimal text such as `1250.50`; undefined when they are not exact. */
function centsOf(dollars: string): number | undefined {
  const match = dollarShape.exec(dollars);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = ''] = match;
  return parseCents(Number(`${sign}${whole}${fraction.padEnd(2, '0')}`));
}
