import { Fault } from '../domain/fault.js';

/** The options of a command line, read by name and type. */
export class Options {
  constructor(private readonly values: Readonly<Record<string, unknown>>) {}

  flag(name: string): boolean {
    return this.values[name] === true;
  }

  /** Returns true when the flag was switched off: `--no-browser` sets `browser` to false. */
  isOff(name: string): boolean {
    return this.values[name] === false;
  }

  text(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === 'string' ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.values[name];
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  }

  /** Returns a whole number within bounds, or undefined without the flag. Throws `usage` for any other value. */
  whole(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= bounds.min && value <= bounds.max) return value;
    const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new Fault('usage', `--${dashed} is ${JSON.stringify(text)}`, {
      hint: `a whole number from ${bounds.min} to ${bounds.max}`,
    });
  }
}

/** Returns the text. Throws `usage` for an empty one, which comes from a variable of a script that is not set. */
export function given(text: string, name: string): string {
  if (text.trim() !== '') return text;
  throw new Fault('usage', `${name} is ${JSON.stringify(text)}`, {
    hint: 'name it; a variable in the command may be empty',
  });
}
