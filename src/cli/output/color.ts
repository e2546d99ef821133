import type { OutputStream } from '../io.js';

export interface Paint {
  bold(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
}

/**
 * Returns whether to print colour. Any `NO_COLOR` but the empty one turns it off (no-color.org). A stream that is not a
 * terminal gets colour only with `CLICOLOR_FORCE`.
 */
export function wantsColor(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false;
  if ((env.CLICOLOR_FORCE ?? '0') !== '0') return true;
  return stream.isTTY === true && env.TERM !== 'dumb' && env.CLICOLOR !== '0';
}

export function paintFor(color: boolean): Paint {
  const paint = (open: number, close: number) => (text: string) =>
    color ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: paint(1, 22),
    red: paint(31, 39),
    yellow: paint(33, 39),
  };
}
