import { resolve, sep } from 'node:path';
import type { CommandContext } from './command.js';
import { given } from './options.js';

/** Returns the path that an argument names. Throws `usage` for an empty one, which would mean the current folder. */
export function pathArgument(path: string, argument: string, { io }: Pick<CommandContext, 'io'>): string {
  return resolve(io.cwd, given(path, argument));
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
