import { resolve, sep } from 'node:path';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';

/**
 * Returns the path that an argument names. Throws `usage` for an empty one: it would mean the current folder, and comes
 * from a variable of a script that is not set.
 */
export function pathArgument(path: string, argument: string, { io }: Pick<CommandContext, 'io'>): string {
  if (path.trim() === '')
    throw new Fault('usage', `${argument} is ${JSON.stringify(path)}`, {
      hint: 'name it; a variable in the command may be empty',
    });
  return resolve(io.cwd, path);
}

/** The same for an option; undefined without it. `name` is commander's name of `flag`. */
export function pathOption(
  context: Pick<CommandContext, 'io' | 'options'>,
  name: string,
  flag: string,
): string | undefined {
  const path = context.options.text(name);
  return path === undefined ? undefined : pathArgument(path, flag, context);
}

/** Returns whether a path that a person typed means a folder, existing or not: it ends with a slash. */
export const endsAsFolder = (path: string): boolean => path.endsWith('/') || path.endsWith(sep);
