import type { Command } from '../command.js';
import { silentProgram } from '../program.js';
import { bashCompletion } from './bash.js';
import { fishCompletion } from './fish.js';
import { type Place, placesOf } from './offers.js';
import { zshCompletion } from './zsh.js';

const writers: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

export const shells: readonly string[] = Object.keys(writers);

/** Returns the completion script, or null for an unsupported shell. */
export function completionScript(shell: string, commands: readonly Command[]): string | null {
  const write = Object.hasOwn(writers, shell) ? writers[shell] : undefined;
  return write === undefined ? null : write(placesOf(silentProgram(commands)));
}
