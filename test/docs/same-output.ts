import type { Shown } from './page-blocks.js';

/** Patterns that differ from run to run, each with its replacement. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, '(time)'],
  [/\b(?:at|rt|pk|sk|whsec)_[A-Za-z0-9_]{8,}/g, '(secret)'],
  [/\b([a-z]{2,5})_[A-Za-z0-9]{10,}/g, '$1_(id)'],
  [/\b[\d,.]+ ?(?:ms|s|min|h|rows\/s)\b/g, '(time)'],
  // A column is as wide as its longest cell, which may be one of the above.
  [/ {2,}/g, '  '],
  [/ +$/gm, ''],
];

/**
 * Returns whether the printed output matches what the page shows. Times, durations, ids and secrets may differ. `…` on the
 * page matches anything within a line; a line with only `…` matches any number of lines.
 */
export function sameOutput({ text, anyNumbers }: Shown, printed: string): boolean {
  const settled = (output: string) =>
    anyNumbers ? steady(output).replaceAll(number, '(n)') : steady(output);
  const pattern = settled(text)
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${escaped(line).replaceAll('…', '.*')}\\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${settled(printed)}\n`);
}

const number = /\d[\d,]*/g;

const steady = (text: string): string =>
  // CSV lines end with CRLF; pages show LF.
  volatile
    .reduce((rest, [found, word]) => rest.replaceAll(found, word), text.replaceAll('\r\n', '\n'))
    .trim();

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
