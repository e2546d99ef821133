import type { OutputStream } from '../io.js';

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** no-color.org: whatever value but the empty one switches off; a stream that is no terminal has no colour unless forced. */
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
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}
