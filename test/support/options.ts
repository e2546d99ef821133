import { parseArgs } from 'node:util';
import { shellWord } from '../../src/domain/shell-word.js';

/** One option of a command of this repository: its words in `--help`, and how its text becomes a value. */
export interface Option<Value> {
  readonly about: string;
  /** What stands after the name in `--help`; a switch takes none. */
  readonly placeholder: string | null;
  readonly initial: Value;
  /** Repeated, it gathers all values. */
  readonly repeats?: true;
  /** Throws `OptionRefused` with what it takes. */
  readonly read: (text: string) => Value;
}

export interface Command<Options> {
  /** As a user types it, such as `npm run torture`. */
  readonly name: string;
  readonly about: string;
  readonly options: Options;
  /** What stands for the words beside the options, where it takes any. */
  readonly rest?: string;
}

type Values<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer Value> ? Value : never;
};

/** A mistake in the words of a command, as one sentence. */
export class OptionRefused extends Error {}

export interface Range {
  readonly least?: number;
  readonly placeholder?: string;
}

/** A whole number from `least` on, by default 0; `_` and `,` may group its digits. */
export function whole(about: string, initial: number, range?: Range): Option<number>;
export function whole(about: string, initial: null, range?: Range): Option<number | null>;
export function whole(about: string, initial: number | null, range: Range = {}): Option<number | null> {
  const { least = 0, placeholder = 'N' } = range;
  const read = (text: string) => {
    const digits = text.replaceAll(/[_,]/g, '');
    const number = Number(digits);
    if (/^\d+$/.test(digits) && Number.isSafeInteger(number) && number >= least) return number;
    throw new OptionRefused(`takes a whole number from ${least}, not "${text}"`);
  };
  return { about, initial, placeholder, read };
}

/** A number above 0, with or without a fraction. */
export function amount(about: string, initial: number, placeholder?: string): Option<number>;
export function amount(about: string, initial: null, placeholder?: string): Option<number | null>;
export function amount(about: string, initial: number | null, placeholder = 'N'): Option<number | null> {
  const read = (text: string) => {
    const number = Number(text);
    if (/^\d*\.?\d+$/.test(text) && number > 0) return number;
    throw new OptionRefused(`takes a number above 0, not "${text}"`);
  };
  return { about, initial, placeholder, read };
}

/** One of a few words. */
export function choice<const Word extends string>(
  about: string,
  words: readonly Word[],
  initial: NoInfer<Word>,
): Option<Word>;
export function choice<const Word extends string>(
  about: string,
  words: readonly Word[],
  initial: null,
): Option<Word | null>;
export function choice<const Word extends string>(
  about: string,
  words: readonly Word[],
  initial: Word | null,
): Option<Word | null> {
  const read = (text: string) => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new OptionRefused(`takes ${words.join(', ')}, not "${text}"`);
  };
  return { about, initial, placeholder: words.join('|'), read };
}

/** Any text but an empty one. */
export function text(about: string, initial: string, placeholder: string): Option<string>;
export function text(about: string, initial: null, placeholder: string): Option<string | null>;
export function text(about: string, initial: string | null, placeholder: string): Option<string | null> {
  return { about, initial, placeholder, read: notEmpty };
}

/** Words of a list, separated by commas or given by repeating the option. */
export function several<const Word extends string>(
  about: string,
  words: readonly Word[],
  placeholder: string,
): Option<readonly Word[]> {
  const read = (given: string) =>
    given.split(',').map((text) => {
      const word = words.find((one) => one === text);
      if (word !== undefined) return word;
      throw new OptionRefused(`knows no "${text}"; there are ${words.join(', ')}`);
    });
  return { about, initial: [], placeholder, repeats: true, read };
}

/** Off unless it is given. */
export const flag = (about: string): Option<boolean> => ({
  about,
  initial: false,
  placeholder: null,
  read: () => true,
});

function notEmpty(text: string): string {
  if (text !== '') return text;
  throw new OptionRefused('takes a text that is not empty');
}

type Parsed<Options> =
  | { readonly help: string }
  | { readonly values: Values<Options>; readonly rest: readonly string[] };

/** Reads the words of a command line. Throws `OptionRefused` for the first mistake. */
export function parseOptions<Options extends Record<string, Option<unknown>>>(
  command: Command<Options>,
  words: readonly string[],
): Parsed<Options> {
  const entries = Object.entries(command.options);
  const { values: given, positionals } = parseWords(command, words);
  if (given.help === true) return { help: helpOf(command) };
  if (positionals[0] !== undefined && command.rest === undefined)
    throw new OptionRefused(`it takes options only, not "${positionals[0]}"`);
  const values = entries.map(([name, option]) => [name, valueIn(name, option, given[name])] as const);
  return { values: Object.fromEntries(values) as Values<Options>, rest: positionals };
}

function parseWords<Options extends Record<string, Option<unknown>>>(
  { options }: Command<Options>,
  words: readonly string[],
) {
  const types = Object.entries(options).map(
    ([name, { placeholder }]) =>
      [
        name,
        placeholder === null ? { type: 'boolean' as const } : { type: 'string' as const, multiple: true },
      ] as const,
  );
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, ...Object.fromEntries(types) },
    }) as { readonly values: Record<string, unknown>; readonly positionals: readonly string[] };
  } catch (error) {
    // The first sentence says what is wrong; others explain the parser.
    throw new OptionRefused((error as Error).message.split(/\.\s/)[0]);
  }
}

function valueIn(name: string, option: Option<unknown>, given: unknown): unknown {
  if (given === undefined) return option.initial;
  const texts = Array.isArray(given) ? given.map(String) : [''];
  if (option.repeats !== true && texts.length > 1) throw new OptionRefused(`--${name} is given twice`);
  try {
    const read = texts.map(option.read);
    return option.repeats === true ? read.flat() : read[0];
  } catch (error) {
    if (error instanceof OptionRefused) throw new OptionRefused(`--${name} ${error.message}`);
    throw error;
  }
}

function helpOf<Options extends Record<string, Option<unknown>>>(command: Command<Options>): string {
  const rows = Object.entries(command.options).map(([name, { placeholder, about, initial }]) => {
    const usual = typeof initial === 'string' || typeof initial === 'number' ? ` (${initial})` : '';
    return [placeholder === null ? `--${name}` : `--${name} ${placeholder}`, `${about}${usual}`] as const;
  });
  const width = Math.min(28, Math.max(...rows.map(([left]) => left.length), 0));
  const lines = rows.map(([left, right]) =>
    left.length > width ? `  ${left}\n  ${' '.repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`,
  );
  const usage = [command.name, '[-- options]', ...(command.rest === undefined ? [] : [command.rest])];
  return [`usage: ${usage.join(' ')}\n`, `${command.about}\n`, ...lines].join('\n').trimEnd();
}

/**
 * Reads this process's own command line. Prints `--help` and ends with 0, or prints the mistake and ends with 2.
 */
export function readOptions<Options extends Record<string, Option<unknown>>>(
  command: Command<Options>,
): Values<Options> & { readonly rest: readonly string[] } {
  try {
    const parsed = parseOptions(command, process.argv.slice(2));
    if (!('help' in parsed)) return { ...parsed.values, rest: parsed.rest };
    console.log(parsed.help);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof OptionRefused)) throw error;
    refuse(command, error.message);
  }
}

/** Returns the line that runs the command again with these values, without those that an option has when it is not given. */
export function lineWith<Options extends Record<string, Option<unknown>>>(
  { name, options }: Pick<Command<Options>, 'name' | 'options'>,
  values: Readonly<Record<keyof Options, unknown>>,
): string {
  const words = Object.entries(options).flatMap(([option, { initial, placeholder }]) => {
    const value = values[option];
    if (value === initial || value === null) return [];
    if (placeholder === null) return [`--${option}`];
    return (Array.isArray(value) ? value : [value]).map((one) => `--${option} ${shellWord(String(one))}`);
  });
  return [name, ...(words.length > 0 ? ['--'] : []), ...words].join(' ');
}

/** For what only the command itself can judge, such as two options that exclude each other. */
export function refuse(command: Pick<Command<unknown>, 'name'>, mistake: string): never {
  console.error(`error: ${mistake}\nTry: ${command.name} -- --help`);
  process.exit(2);
}
